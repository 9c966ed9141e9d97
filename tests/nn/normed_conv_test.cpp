#include "vitrine/nn/normed_conv.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

/// A convolution whose norm has learned statistics, and the norm.
struct Layer {
  explicit Layer(bool bias = false) {
    torch::manual_seed(1);
    norm->weight.data().uniform_(0.5, 2);
    norm->bias.data().normal_();
    norm->running_mean.normal_();
    norm->running_var.uniform_(0.5, 2);
    const auto options = torch::nn::Conv2dOptions(3, 5, 3).stride(2).padding(1).bias(bias);
    conv = NormedConv(options, norm);
  }
  torch::Tensor plain(const torch::Tensor& x) {
    return norm(torch::conv2d(x, conv->weight, conv->bias, /*stride=*/2, /*padding=*/1));
  }

  torch::nn::BatchNorm2d norm{torch::nn::BatchNorm2dOptions(5).eps(1e-3)};
  NormedConv conv{nullptr};
};

}  // namespace

TEST(NormedConv, IsAConvolutionThenItsNorm) {
  Layer layer;
  layer.norm->eval();
  const auto x = torch::randn({2, 3, 7, 9}), residual = torch::randn({2, 5, 4, 5});
  EXPECT_TRUE(layer.conv(x).equal(layer.plain(x)));
  EXPECT_TRUE(layer.conv->relu(x).equal(torch::relu(layer.plain(x))));
  EXPECT_TRUE(layer.conv->relu(x, residual).equal(torch::relu(layer.plain(x) + residual)));
}

TEST(NormedConv, HasTheGradientsOfItsParts) {
  Layer layer;
  const auto x = torch::randn({2, 3, 7, 9}).requires_grad_(),
             residual = torch::randn({2, 5, 4, 5}).requires_grad_(),
             weights = torch::randn({2, 5, 4, 5});
  const auto gradients = [&](const torch::Tensor& y) {
    return torch::autograd::grad({(y * weights).sum()},
                                 {x, residual, layer.conv->weight, layer.norm->weight});
  };
  const auto expected = gradients(torch::relu(layer.plain(x) + residual)),
             actual = gradients(layer.conv->relu(x, residual));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(actual[i].equal(expected[i])) << i;
}

TEST(NormedConv, FoldsItsNormForInference) {
  for (const bool bias : {false, true}) {
    Layer layer(bias);
    layer.norm->eval();
    const auto x = torch::randn({2, 3, 7, 9});
    const auto expected = layer.plain(x);
    layer.conv->fold();
    layer.norm->reset_parameters();  // no longer asked
    EXPECT_TRUE(torch::allclose(layer.conv(x), expected, 1e-4, 1e-5)) << bias;
    EXPECT_TRUE(test::contains(test::error_of([&] { layer.conv->fold(); }), "folded before"));
  }
}

}  // namespace vitrine
