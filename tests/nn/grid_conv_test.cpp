#include "vitrine/nn/grid_conv.h"

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {
namespace {

/// Features place by place, (B, 4 * C), as the images (B, C, 2, 2) that torch convolves.
torch::Tensor as_image(const torch::Tensor& x) {
  return x.view({x.size(0), 2, 2, -1}).permute({0, 3, 1, 2});
}
torch::Tensor as_places(const torch::Tensor& image) {
  return image.permute({0, 2, 3, 1}).flatten(1);
}

}  // namespace

TEST(GridConv, EqualsTorchsConvolution) {
  torch::manual_seed(1);
  GridConv layer(3, 5);
  const auto x = torch::randn({7, 4 * 3});
  const auto expected = as_places(torch::conv2d(as_image(x), layer->conv->weight.flip({2, 3}),
                                                layer->conv->bias, /*stride=*/1, 1));
  EXPECT_TRUE(torch::allclose(layer(x), expected, 1e-5, 1e-6));
}

TEST(GridConv, OfATableEqualsTheConvolutionOfTheLookedUpGrids) {
  torch::manual_seed(1);
  GridConv layer(3, 5);
  const auto table = torch::randn({10, 3});
  const auto digits = torch::randint(10, {7, 4}, torch::kLong);
  const auto one_hot = torch::one_hot(digits, 10).to(torch::kFloat).flatten(1);
  const auto grids = table.index_select(0, digits.flatten()).view({7, 4 * 3});
  EXPECT_TRUE(torch::allclose(layer->look_up(one_hot, table), layer(grids), 1e-5, 1e-6));
}

TEST(GridConv, GradientsEqualDifferences) {
  torch::manual_seed(1);
  GridConv layer(2, 3);
  layer->to(torch::kDouble);
  const auto x = torch::randn({3, 4 * 2}, torch::kDouble);
  EXPECT_TRUE(test::gradients_match([&](const torch::Tensor& t) { return layer(t); }, x));
  const auto digits = torch::randint(5, {3, 4}, torch::kLong);
  const auto one_hot = torch::one_hot(digits, 5).to(torch::kDouble).flatten(1);
  EXPECT_TRUE(
      test::gradients_match([&](const torch::Tensor& t) { return layer->look_up(one_hot, t); },
                            torch::randn({5, 2}, torch::kDouble)));
}

TEST(GridConv, RefusesFeaturesThatAreNotFourPlaces) {
  GridConv layer(3, 5);
  const auto message = test::error_of([&] { layer(torch::randn({2, 9})); });
  EXPECT_TRUE(test::contains(message, "grid_conv: input 2x9 is not (B, 12)"));
}

}  // namespace vitrine
