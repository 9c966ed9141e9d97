#include "vitrine/nn/linformer_attention.h"

#include <cmath>
#include <numbers>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"
#include "vitrine/nn/attention.h"

namespace vitrine {
namespace {

LinformerAttentionConfig small_linformer() {
  return {.attention = {.dim = 12, .heads = 3}, .tokens = 7, .length = 4};
}

/// How far Linformer is from softmax attention over slow waves, if it sees the means of `runs`
/// runs of tokens.
double error_over_waves(int64_t T, int64_t runs) {
  torch::manual_seed(3);
  const auto waves = [&] {
    const auto angle = 2 * std::numbers::pi * torch::arange(T, torch::kDouble).unsqueeze(1) / T;
    return (angle * torch::arange(1, 5) + torch::randn({4}, torch::kDouble))
        .cos()
        .matmul(torch::randn({4, 8}, torch::kDouble))
        .view({1, 1, T, 8});
  };
  const auto q = waves(), k = waves(), v = waves();
  const auto means = torch::eye(runs, torch::kDouble).repeat_interleave(T / runs, 1) * runs / T;
  const auto exact = (q.matmul(k.transpose(-2, -1)) / std::sqrt(8)).softmax(-1).matmul(v);
  return ((linformer_attention(q, k, v, means, means) - exact).norm() / exact.norm())
      .item<double>();
}

}  // namespace

TEST(LinformerAttention, IsTheFormula) {
  torch::manual_seed(1);
  LinformerAttention layer(small_linformer());
  const auto x = torch::randn({2, 7, 12});
  const auto parts = layer->qkv(x).view({2, 7, 3, 3, 4}).permute({2, 0, 3, 1, 4});  // 3 B H T D
  const auto keys = layer->key_proj->weight.matmul(parts[1]);                       // (B, H, K, D)
  const auto values = layer->value_proj->weight.matmul(parts[2]);
  const auto weights = (parts[0].matmul(keys.transpose(-2, -1)) / 2).softmax(-1);  // (B, H, T, K)
  const auto expected = layer->proj(weights.matmul(values).transpose(1, 2).reshape({2, 7, 12}));
  EXPECT_TRUE(torch::allclose(layer(x), expected, 1e-5, 1e-6));
}

TEST(LinformerAttention, IsExactIfItKeepsEveryToken) {
  torch::manual_seed(1);
  Attention exact(AttentionConfig{.dim = 12, .heads = 3});
  auto config = small_linformer();
  config.length = config.tokens;
  LinformerAttention layer(config);
  const torch::NoGradGuard no_grad;
  layer->qkv = exact->qkv;
  layer->proj = exact->proj;
  layer->key_proj->weight.copy_(torch::eye(7));
  layer->value_proj->weight.copy_(torch::eye(7));
  const auto x = torch::randn({2, 7, 12});
  EXPECT_TRUE(torch::allclose(layer(x), exact(x), 1e-5, 1e-6));
}

TEST(LinformerAttention, ErrorOverSmoothSequencesFallsWithTheLength) {
  double before = error_over_waves(128, 8);
  for (const int64_t runs : {16, 32, 64}) {
    const auto error = error_over_waves(128, runs);
    EXPECT_LT(error, 0.5 * before) << runs;  // about a quarter
    before = error;
  }
  EXPECT_LT(error_over_waves(128, 128), 1e-12);
}

TEST(LinformerAttention, GradientMatchesDifferences) {
  torch::manual_seed(1);
  LinformerAttention layer(small_linformer());
  layer->to(torch::kDouble);
  EXPECT_TRUE(
      test::gradients_match([&](const auto& x) { return layer(x); }, torch::randn({2, 7, 12})));
  const auto x = torch::randn({2, 7, 12}, torch::kDouble);
  for (auto* weight : {&layer->key_proj->weight, &layer->value_proj->weight}) {
    const auto of_weight = [&](const auto& w) {
      *weight = w;
      return layer(x);
    };
    EXPECT_TRUE(test::gradients_match(of_weight, torch::randn({4, 7})));
  }
}

TEST(LinformerAttention, RefusesWhatItCannotDo) {
  const auto refusal = [](auto change) {
    auto config = small_linformer();
    change(config);
    return test::error_of([&] { LinformerAttention layer(config); });
  };
  EXPECT_TRUE(test::contains(refusal([](auto& c) { c.length = 8; }),
                             "linformer: length 8 is not between 1 and the 7 tokens"));
  EXPECT_TRUE(test::contains(refusal([](auto& c) { c.tokens = 0; }), "tokens must be known"));
  EXPECT_TRUE(test::contains(refusal([](auto& c) { c.attention.causal = true; }), "all tokens"));
  EXPECT_TRUE(
      test::contains(refusal([](auto& c) { c.attention.max_relative_distance = 2; }), "relative"));
  LinformerAttention layer(small_linformer());
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               layer(torch::randn({2, 6, 12}));
                             }),
                             "linformer: 6 tokens, but the layer was made for 7"));
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               layer(torch::randn({2, 7, 8}));
                             }),
                             "linformer: input 2x7x8 is not (B, T, 12)"));
}

}  // namespace vitrine
