#include "vitrine/nn/reformer_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {
namespace {

/// Whether token i sees token j in any round, for one head: qk (T, D) -> (T, T).
torch::Tensor seen_pairs(const torch::Tensor& qk, const torch::Tensor& rotations, int64_t chunk) {
  const auto T = qk.size(0);
  auto seen = torch::zeros({T, T}, torch::kBool);
  for (const auto& rotation : rotations.unbind()) {
    const auto turned = qk.matmul(rotation);
    const auto bucket = torch::cat({turned, -turned}, 1).argmax(1);
    std::vector<int64_t> order(T);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return bucket[a].item<int64_t>() < bucket[b].item<int64_t>();
    });
    for (int64_t i = 0; i < T; ++i)
      for (int64_t j = 0; j < T; ++j) {
        const auto behind = i / chunk - j / chunk;
        if (behind == 0 || behind == 1) seen[order[i]][order[j]] = true;
      }
  }
  return seen;
}

/// Shared queries and keys over the pairs that `seen` (T, T) allows: (T, D) -> (T, D).
torch::Tensor plain_shared_attention(const torch::Tensor& qk, const torch::Tensor& v,
                                     const torch::Tensor& seen) {
  const auto k = qk / qk.norm(2, -1, true);
  auto scores = qk.matmul(k.t()) / std::sqrt(qk.size(1));
  scores = scores.masked_fill(seen.logical_not(), -INFINITY);
  return (scores - 1e5 * torch::eye(qk.size(0), qk.options())).softmax(-1).matmul(v);
}

ReformerAttentionConfig small_reformer() {
  return {.attention = {.dim = 8, .heads = 2}, .tokens = 13, .bucket = 3, .rounds = 2};
}

}  // namespace

TEST(ReformerAttention, IsSoftmaxOverThePairsThatMeetInAnyRound) {
  torch::manual_seed(1);
  for (const auto& [T, chunk, rounds] : std::vector<std::array<int64_t, 3>>{
           {1, 4, 1}, {2, 1, 2}, {5, 1, 3}, {12, 4, 1}, {12, 4, 5}, {13, 4, 2}, {13, 5, 5}}) {
    const auto qk = torch::randn({2, 3, T, 6}, torch::kDouble);
    const auto v = torch::randn({2, 3, T, 6}, torch::kDouble);
    const auto rotations = lsh_rotations(rounds, 6, T, chunk).to(torch::kDouble);
    const auto y = reformer_attention(qk, v, rotations, chunk);
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h) {
        const auto seen = seen_pairs(qk[b][h], rotations, chunk);
        const auto expected = plain_shared_attention(qk[b][h], v[b][h], seen);
        EXPECT_TRUE(torch::allclose(y[b][h], expected, 1e-6, 1e-9))
            << T << " " << chunk << " " << rounds;
      }
  }
}

TEST(ReformerAttention, ATokenAloneSeesItself) {
  torch::manual_seed(1);
  const auto qk = torch::randn({1, 1, 1, 4}), v = torch::randn({1, 1, 1, 4});
  const auto y = reformer_attention(qk, v, lsh_rotations(3, 4, 1, 1), /*chunk=*/1);
  EXPECT_TRUE(torch::allclose(y, v, 1e-5, 1e-6));
}

TEST(ReformerAttention, IsExactIfOneChunkHoldsAll) {
  torch::manual_seed(1);
  const auto qk = torch::randn({1, 1, 50, 8}, torch::kDouble), v = torch::randn_like(qk);
  const auto rotations = lsh_rotations(3, 8, 50, 64).to(torch::kDouble);
  const auto exact = plain_shared_attention(qk[0][0], v[0][0], torch::ones({50, 50}, torch::kBool));
  EXPECT_TRUE(torch::allclose(reformer_attention(qk, v, rotations, 64)[0][0], exact, 1e-6, 1e-9));
}

TEST(ReformerAttention, ComesCloserToExactAttentionWithEveryRound) {
  torch::manual_seed(2);
  const int64_t T = 256, groups = 16;
  const auto group = torch::arange(T) % groups;
  const auto around = [&](double spread) {
    return torch::randn({groups, 16}).index_select(0, group) + spread * torch::randn({T, 16});
  };
  const auto qk = 4 * around(0.2), v = around(0.5);
  const auto exact = plain_shared_attention(qk, v, torch::ones({T, T}, torch::kBool));
  std::vector<double> errors;
  for (const int64_t rounds : {1, 4, 16, 64}) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      const auto y = reformer_attention(qk.view({1, 1, T, 16}), v.view({1, 1, T, 16}),
                                        lsh_rotations(rounds, 16, T, 16), 16);
      sum += ((y[0][0] - exact).norm() / exact.norm()).item<double>();
    }
    errors.push_back(sum / 4);
  }
  for (size_t i = 1; i < errors.size(); ++i) EXPECT_LT(errors[i], 0.8 * errors[i - 1]) << i;
  EXPECT_LT(errors.back(), 0.05);
}

TEST(ReformerAttention, HashesNearVectorsAlike) {
  torch::manual_seed(1);
  const auto a = torch::randn({1, 1, 500, 16});
  const auto rotations = lsh_rotations(8, 16, /*tokens=*/256, /*bucket=*/16);  // 16 buckets
  const auto same = [&](const torch::Tensor& b) {
    return lsh_buckets(a, rotations).eq(lsh_buckets(b, rotations)).to(torch::kDouble).mean();
  };
  EXPECT_EQ(same(3 * a).item<double>(), 1);  // only the direction counts
  EXPECT_GT(same(a + 0.1 * torch::randn_like(a)).item<double>(), 0.7);
  EXPECT_LT(same(torch::randn_like(a)).item<double>(), 0.1);
  EXPECT_EQ(same(-a).item<double>(), 0);
}

TEST(ReformerAttention, ALayerGivesTheSameAnswerAgain) {
  torch::manual_seed(1);
  ReformerAttention layer(small_reformer());
  const auto x = torch::randn({2, 13, 8});
  EXPECT_TRUE(layer(x).equal(layer(x)));
  EXPECT_EQ(layer->qkv->weight.sizes(), (std::vector<int64_t>{16, 8}));
  EXPECT_EQ(layer->named_buffers().keys(), std::vector<std::string>{"rotations"});
}

TEST(ReformerAttention, GradientMatchesDifferences) {
  torch::manual_seed(1);
  ReformerAttention layer(small_reformer());
  layer->to(torch::kDouble);
  EXPECT_TRUE(
      test::gradients_match([&](const auto& x) { return layer(x); }, torch::randn({2, 13, 8})));
}

TEST(ReformerAttention, RefusesWhatItCannotDo) {
  const auto refusal = [](auto change) {
    auto config = small_reformer();
    change(config);
    return test::error_of([&] { ReformerAttention layer(config); });
  };
  EXPECT_TRUE(test::contains(refusal([](auto& c) { c.bucket = 0; }), "reformer: bucket 0"));
  EXPECT_TRUE(test::contains(refusal([](auto& c) { c.tokens = 0; }), "tokens must be known"));
  EXPECT_TRUE(
      test::contains(refusal([](auto& c) { c.attention.causal = true; }), "cannot be causal"));
  EXPECT_TRUE(
      test::contains(refusal([](auto& c) { c.attention.max_relative_distance = 2; }), "relative"));
  ReformerAttention layer(small_reformer());
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               layer(torch::randn({13, 8}));
                             }),
                             "reformer: input 13x8 is not (B, T, 8)"));
}

}  // namespace vitrine
