#include "vitrine/nn/linear.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

double relative_error(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

}  // namespace

TEST(Linear, ComputesInLowerPrecisionWithoutKeepingTheWeight) {
  const torch::NoGradGuard no_grad;
  for (const auto& [precision, error] :
       {std::pair{Precision::BFloat16, 0.005}, std::pair{Precision::Int8, 0.03}}) {
    torch::manual_seed(1);
    Linear layer(48, 40);
    const auto x = torch::randn({3, 7, 48}), other = torch::randn({40});
    const auto y = layer(x), with_other = layer->product(x, other);
    ASSERT_TRUE(layer->pack(precision));
    EXPECT_LT(relative_error(layer(x), y), error);
    EXPECT_GT(relative_error(layer(x), y), 0);
    EXPECT_LT(relative_error(layer->product(x, other), with_other), error);
    EXPECT_EQ(layer->weight.sizes(), (std::vector<int64_t>{40, 48}));
    EXPECT_EQ(layer->weight.storage().nbytes(), sizeof(float));
    EXPECT_TRUE(layer->weight.isnan().all().item<bool>());
    EXPECT_TRUE(layer->parameters()[0].is_same(layer->weight));
    EXPECT_TRUE(test::contains(test::error_of([&layer, p = precision] { layer->pack(p); }),
                               "linear: the weight was packed before"));
  }
}

TEST(Linear, StaysInFp32WhereItIsToldSo) {
  const torch::NoGradGuard no_grad;
  Linear layer(LinearConfig{.in = 48, .out = 40, .keep_fp32 = true});
  const auto x = torch::randn({7, 48});
  const auto y = layer(x);
  EXPECT_FALSE(layer->pack(Precision::Int8));
  EXPECT_TRUE(layer(x).equal(y));
}

}  // namespace vitrine
