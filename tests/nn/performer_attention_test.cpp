#include "vitrine/nn/performer_attention.h"

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {
namespace {

/// The features written out, without any care for large numbers: (.., T, D) -> (.., T, M).
torch::Tensor plain_features(const torch::Tensor& x, const torch::Tensor& directions) {
  const auto scaled = x / std::pow(x.size(-1), 0.25);
  return (scaled.matmul(directions.t()) - scaled.square().sum(-1, true) / 2).exp() /
         std::sqrt(directions.size(0));
}

/// The definition: estimated weights of all pairs, rows divided by their sums.
torch::Tensor plain_performer(const torch::Tensor& q, const torch::Tensor& k,
                              const torch::Tensor& v, const torch::Tensor& directions,
                              bool causal) {
  auto weights = plain_features(q, directions).matmul(plain_features(k, directions).mT());
  if (causal) weights = weights.tril();
  return (weights / weights.sum(-1, true)).matmul(v);
}

torch::Tensor head_vectors(int64_t T, double length = 1) {
  return length * torch::randn({2, 3, T, 8}, torch::kDouble);
}

/// The mean square error of exp(q k / sqrt(D)) as the features estimate it, over many draws.
double kernel_error(int64_t count, bool orthogonal) {
  torch::manual_seed(5);
  constexpr int64_t kDraws = 300, kWidth = 16;
  const auto q = 0.35 * torch::randn({24, kWidth}), k = 0.35 * torch::randn({24, kWidth});
  const auto exact = (q.matmul(k.t()) / std::sqrt(kWidth)).exp();
  double sum = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const auto directions =
        orthogonal ? orthogonal_features(count, kWidth) : torch::randn({count, kWidth});
    const auto estimate = plain_features(q, directions).matmul(plain_features(k, directions).t());
    sum += (estimate - exact).square().mean().item<double>();
  }
  return sum / kDraws;
}

}  // namespace

TEST(PerformerAttention, IsTheDefinition) {
  torch::manual_seed(1);
  const auto directions = orthogonal_features(20, 8).to(torch::kDouble);
  for (const bool causal : {false, true})
    for (const int64_t T : {1, 7, 64, 65, 150}) {
      const auto q = head_vectors(T), k = head_vectors(T), v = head_vectors(T);
      EXPECT_TRUE(torch::allclose(performer_attention(q, k, v, directions, causal),
                                  plain_performer(q, k, v, directions, causal), 1e-9, 1e-12))
          << T << causal;
    }
}

TEST(PerformerAttention, ALayerProjectsAttendsAndProjects) {
  torch::manual_seed(1);
  PerformerAttention layer(
      PerformerAttentionConfig{.attention = {.dim = 12, .heads = 3}, .features = 9});
  const auto x = torch::randn({2, 7, 12});
  const auto parts = layer->qkv(x).view({2, 7, 3, 3, 4}).permute({2, 0, 3, 1, 4});  // 3 B H T D
  const auto mixed = plain_performer(parts[0], parts[1], parts[2], layer->features, false);
  const auto expected = layer->proj(mixed.transpose(1, 2).reshape({2, 7, 12}));
  EXPECT_TRUE(torch::allclose(layer(x), expected, 1e-4, 1e-5));
  EXPECT_EQ(layer->named_buffers().keys(), std::vector<std::string>{"features"});
}

TEST(PerformerAttention, StaysFiniteWhereThePlainExponentialsAreNot) {
  torch::manual_seed(1);
  const auto directions = orthogonal_features(20, 8);
  const auto q = head_vectors(150, 60).to(torch::kFloat), k = head_vectors(150, 60).to(q.options());
  const auto v = head_vectors(150).to(q.options());
  for (const bool causal : {false, true}) {
    EXPECT_FALSE(plain_performer(q, k, v, directions, causal).isfinite().all().item<bool>());
    const auto y = performer_attention(q, k, v, directions, causal);
    EXPECT_TRUE(y.isfinite().all().item<bool>()) << causal;
    EXPECT_LE(y.abs().max().item<double>(), v.abs().max().item<double>() * 1.001) << causal;
  }
}

TEST(PerformerAttention, ACausalTokenSeesOnlyThoseBeforeIt) {
  torch::manual_seed(1);
  PerformerAttention layer(PerformerAttentionConfig{
      .attention = {.dim = 12, .heads = 3, .causal = true}, .features = 16});
  const auto x = torch::randn({2, 150, 12});
  const auto y = layer(x);
  for (const int64_t T : {1, 5, 64, 100})
    EXPECT_TRUE(torch::allclose(layer(x.slice(1, 0, T)), y.slice(1, 0, T), 1e-4, 1e-5)) << T;
}

TEST(PerformerAttention, GradientMatchesDifferences) {
  for (const bool causal : {false, true}) {
    torch::manual_seed(1);
    PerformerAttention layer(PerformerAttentionConfig{
        .attention = {.dim = 4, .heads = 2, .causal = causal}, .features = 6});
    layer->to(torch::kDouble);
    EXPECT_TRUE(
        test::gradients_match([&](const auto& x) { return layer(x); }, torch::randn({2, 70, 4})))
        << causal;
  }
}

TEST(PerformerAttention, FeaturesStandAtRightAnglesAndAreAsLongAsNormalOnes) {
  torch::manual_seed(1);
  const auto block = orthogonal_features(8, 8);
  const auto products = block.matmul(block.t());
  EXPECT_LT((products - products.diag().diag()).abs().max().item<double>(), 1e-4);
  const auto many = orthogonal_features(4001, 8);
  EXPECT_EQ(many.size(0), 4001);
  EXPECT_NEAR(many.mean().item<double>(), 0, 0.03);
  EXPECT_NEAR(many.square().mean().item<double>(), 1, 0.05);
}

TEST(PerformerAttention, EstimateOfTheKernelHasNoBias) {
  torch::manual_seed(1);
  const auto q = 0.35 * torch::randn({6, 16}), k = 0.35 * torch::randn({6, 16});
  const auto directions = orthogonal_features(100000, 16);
  const auto estimate = plain_features(q, directions).matmul(plain_features(k, directions).t());
  EXPECT_TRUE(torch::allclose(estimate, (q.matmul(k.t()) / 4).exp(), 0.03, 0));
}

TEST(PerformerAttention, ErrorFallsWithTheRootOfTheFeatures) {
  for (const bool orthogonal : {false, true}) {
    const auto few = kernel_error(16, orthogonal), many = kernel_error(256, orthogonal);
    EXPECT_NEAR(std::sqrt(few / many), 4, 0.6) << orthogonal;
  }
}

TEST(PerformerAttention, OrthogonalFeaturesBeatIndependentOnes) {
  for (const int64_t count : {16, 64})
    EXPECT_LT(kernel_error(count, /*orthogonal=*/true),
              0.93 * kernel_error(count, /*orthogonal=*/false))
        << count;
}

TEST(PerformerAttention, RefusesWhatItCannotDo) {
  const auto refusal = [](auto change) {
    PerformerAttentionConfig config{.attention = {.dim = 12, .heads = 3}, .features = 8};
    change(config);
    return test::error_of([&] { PerformerAttention layer(config); });
  };
  EXPECT_TRUE(test::contains(refusal([](auto& c) { c.features = 0; }), "performer: features 0"));
  EXPECT_TRUE(test::contains(refusal([](auto& c) { c.attention.attention_dropout = 0.1; }),
                             "performer: attention_dropout 0.1"));
  EXPECT_TRUE(
      test::contains(refusal([](auto& c) { c.attention.max_relative_distance = 2; }), "relative"));
  EXPECT_TRUE(test::contains(refusal([](auto& c) { c.attention.heads = 5; }), "multiple of heads"));
  PerformerAttention layer(PerformerAttentionConfig{.attention = {.dim = 12, .heads = 3}});
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               layer(torch::randn({7, 12}));
                             }),
                             "performer: input 7x12 is not (B, T, 12)"));
}

}  // namespace vitrine
