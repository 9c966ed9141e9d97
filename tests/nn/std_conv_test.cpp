#include "vitrine/nn/std_conv.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gradcheck.h"

namespace vitrine {
namespace {

/// The definition, one kernel after the other.
torch::Tensor standardized_by_hand(const torch::Tensor& weight, Standardization how) {
  auto result = weight.clone();
  for (int64_t out = 0; out < weight.size(0); ++out) {
    const auto kernel = weight[out].flatten();
    const auto n = static_cast<double>(kernel.numel());
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < kernel.numel(); ++i) mean += kernel[i].item<double>() / n;
    for (int64_t i = 0; i < kernel.numel(); ++i)
      variance += std::pow(kernel[i].item<double>() - mean, 2) / n;
    const double divisor =
        how == Standardization::Std ? std::sqrt(variance) + 1e-5 : std::sqrt(variance + 1e-8);
    result[out] = (weight[out] - mean) / divisor;
  }
  return result;
}

}  // namespace

TEST(StdConv, StandardizesEachKernelAsDefined) {
  torch::manual_seed(1);
  // So small that the epsilons count.
  const auto weight = torch::randn({3, 2, 3, 3}, torch::kDouble) * 1e-4;
  for (const auto how : {Standardization::Std, Standardization::Variance})
    EXPECT_TRUE(torch::allclose(standardized(weight, how), standardized_by_hand(weight, how),
                                /*rtol=*/1e-10));
  EXPECT_FALSE(torch::allclose(standardized(weight, Standardization::Std),
                               standardized(weight, Standardization::Variance), /*rtol=*/1e-3));
}

TEST(StdConv, PadsMoreBelowAndToTheRight) {
  const auto sides = [](int64_t side, int64_t kernel, int64_t stride) {
    const auto padded = pad_same(torch::ones({1, 1, side, side}), kernel, stride);
    const auto first = padded[0][0].sum(0).nonzero()[0].item<int64_t>();
    return std::pair(first, padded.size(3) - side - first);
  };
  using Sides = std::pair<int64_t, int64_t>;
  EXPECT_EQ(sides(224, 7, 2), Sides(2, 3));
  EXPECT_EQ(sides(112, 3, 2), Sides(0, 1));
  EXPECT_EQ(sides(15, 3, 2), Sides(1, 1));
  EXPECT_EQ(sides(14, 3, 1), Sides(1, 1));
  EXPECT_EQ(sides(14, 1, 2), Sides(0, 0));
  EXPECT_EQ(sides(1, 7, 2), Sides(3, 3));
}

TEST(StdConv, GivesTheSideRoundedUp) {
  for (const int64_t side : {1, 2, 5, 8})
    for (const int64_t kernel : {1, 3, 7})
      for (const int64_t stride : {1, 2}) {
        StdConv2d conv(StdConv2dConfig{.in = 2, .out = 3, .kernel = kernel, .stride = stride});
        const auto y = conv(torch::randn({1, 2, side, side + 1}));
        EXPECT_EQ(y.sizes(), (std::vector<int64_t>{1, 3, (side + stride - 1) / stride,
                                                   (side + stride) / stride}));
      }
}

TEST(StdConv, GradientsMatchDifferences) {
  torch::manual_seed(1);
  for (const auto how : {Standardization::Std, Standardization::Variance}) {
    StdConv2d conv(
        StdConv2dConfig{.in = 2, .out = 3, .kernel = 3, .stride = 2, .standardize = how});
    conv->to(torch::kDouble);
    const auto x = torch::randn({2, 2, 4, 4}, torch::kDouble);
    EXPECT_TRUE(test::gradients_match([&](const auto& in) { return conv(in); }, x));
    const auto of_weight = [&](const torch::Tensor& weight) {
      return torch::conv2d(pad_same(x, 3, 2), standardized(weight, how), {}, 2);
    };
    EXPECT_TRUE(test::gradients_match(of_weight, conv->weight.detach()));
    EXPECT_TRUE(of_weight(conv->weight).equal(conv(x)));
  }
}

}  // namespace vitrine
