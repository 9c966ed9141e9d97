#include "vitrine/nn/rms_norm.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {

TEST(RmsNorm, DividesByTheRootMeanSquareAndDoesNotCentre) {
  RmsNorm norm(4, /*eps=*/0);
  norm->weight.data().copy_(torch::tensor({1.0F, 2.0F, 3.0F, 4.0F}));
  const auto y = norm(torch::tensor({{2.0F, 2.0F, 2.0F, 2.0F}, {1.0F, -1.0F, 1.0F, 7.0F}}));
  EXPECT_TRUE(torch::allclose(y[0], norm->weight));
  const auto root = std::sqrt(52.0F / 4);
  EXPECT_TRUE(torch::allclose(y[1], torch::tensor({1 / root, -2 / root, 3 / root, 28 / root})));
}

TEST(RmsNorm, GradientMatchesDifferences) {
  torch::manual_seed(1);
  RmsNorm norm(5);
  norm->to(torch::kDouble);
  const auto f = [&](const torch::Tensor& x) { return norm(x); };
  EXPECT_TRUE(test::gradients_match(f, torch::randn({2, 3, 5}, torch::kDouble)));
}

TEST(RmsNorm, RefusesRowsOfAnotherWidth) {
  RmsNorm norm(5);
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               norm(torch::zeros({2, 4}));
                             }),
                             "rows of 4 do not fit a norm of 5"));
}

}  // namespace vitrine
