#include "vitrine/ops/scaled_dot_product_attention.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

struct CrossSizes {
  int64_t B, H, queries, keys, D, E;
};

constexpr double kCrossScale = 0.3;

/// Queries, keys and values as layers have them: heads of a token side by side.
std::vector<torch::Tensor> cross_inputs(const CrossSizes& s, torch::ScalarType type) {
  torch::manual_seed(1);
  const auto heads = [&](int64_t tokens, int64_t width) {
    return torch::randn({s.B, tokens, s.H, width}, type).transpose(1, 2);
  };
  return {heads(s.queries, s.D), heads(s.keys, s.D), heads(s.keys, s.E)};
}

torch::Tensor cross_by_reference(const std::vector<torch::Tensor>& x) {
  const ReferenceOps plain;
  return scaled_dot_product_attention(x[0], x[1], x[2], kCrossScale);
}

torch::Tensor cross_by_kernel(const std::vector<torch::Tensor>& x) {
  return scaled_dot_product_attention(x[0], x[1], x[2], kCrossScale);
}

class ScaledDotProductAttention : public testing::TestWithParam<CrossSizes> {};

}  // namespace

TEST_P(ScaledDotProductAttention, EqualsItsReference) {
  const auto x = cross_inputs(GetParam(), torch::kFloat);
  const auto y = cross_by_kernel(x);
  EXPECT_EQ(y.sizes(),
            (std::vector<int64_t>{GetParam().B, GetParam().queries, GetParam().H * GetParam().E}));
  EXPECT_TRUE(torch::allclose(y, cross_by_reference(x), 1e-5, 1e-5));
}

TEST_P(ScaledDotProductAttention, GradientsEqualTheReferences) {
  auto a = cross_inputs(GetParam(), torch::kFloat), b = cross_inputs(GetParam(), torch::kFloat);
  for (auto* x : {&a, &b})
    for (auto& t : *x) t.requires_grad_(true);
  const auto y = cross_by_kernel(a);
  const auto weight = torch::randn_like(y);
  (y * weight).sum().backward();
  (cross_by_reference(b) * weight).sum().backward();
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(torch::allclose(a[i].grad(), b[i].grad(), 1e-4, 1e-5)) << i;
}

TEST_P(ScaledDotProductAttention, GradientsWithDropoutEqualDifferences) {
  const auto x = cross_inputs(GetParam(), torch::kDouble);
  if (x[0].numel() > 500) GTEST_SKIP() << "differences take too long";
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(test::gradients_match(
        [&](const torch::Tensor& t) {
          torch::manual_seed(5);
          auto changed = x;
          changed[i] = t;
          return scaled_dot_product_attention(changed[0], changed[1], changed[2], kCrossScale, 0.4);
        },
        x[i].contiguous()))
        << i;
}

// 200 queries are worked on in several parts.
INSTANTIATE_TEST_SUITE_P(Sizes, ScaledDotProductAttention,
                         testing::Values(CrossSizes{1, 1, 1, 1, 1, 1}, CrossSizes{2, 3, 5, 2, 4, 3},
                                         CrossSizes{1, 2, 9, 4, 3, 3},
                                         CrossSizes{2, 1, 200, 49, 64, 64},
                                         CrossSizes{1, 1, 97, 97, 16, 24}));

TEST(ScaledDotProductAttention, DropsTheSameWeightsWithAndWithoutGradients) {
  auto x = cross_inputs({1, 2, 200, 30, 8, 8}, torch::kFloat);
  const auto run = [&] {
    torch::manual_seed(3);
    return scaled_dot_product_attention(x[0], x[1], x[2], kCrossScale, 0.5);
  };
  const auto without = run();
  x[0].requires_grad_(true);
  EXPECT_TRUE(run().equal(without));
}

TEST(ScaledDotProductAttention, TakesRowsThatAreNotWhole) {
  torch::manual_seed(1);
  const auto turned = [] { return torch::randn({2, 3, 4, 5}).transpose(2, 3); };
  const std::vector<torch::Tensor> x = {turned(), turned(), turned()};
  EXPECT_TRUE(torch::allclose(cross_by_kernel(x), cross_by_reference(x), 1e-5, 1e-5));
}

TEST(ScaledDotProductAttention, RefusesWhatDoesNotFit) {
  const auto x = cross_inputs({1, 2, 5, 3, 4, 4}, torch::kFloat);
  EXPECT_TRUE(test::contains(
      test::error_of([&] { scaled_dot_product_attention(x[0], x[1], x[0], kCrossScale); }),
      "queries 1x2x5x4, keys 1x2x3x4 and values 1x2x5x4 do not fit together"));
  EXPECT_TRUE(test::contains(
      test::error_of([&] { scaled_dot_product_attention(x[0], x[1], x[2], kCrossScale, 1); }),
      "dropout 1 is not in [0, 1)"));
}

}  // namespace vitrine
