#include "vitrine/ops/layer_norm.h"

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {
namespace {

torch::nn::LayerNorm random_norm(int64_t n) {
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({n}).eps(1e-5));
  const torch::NoGradGuard no_grad;
  norm->weight.copy_(torch::randn({n}));
  norm->bias.copy_(torch::randn({n}));
  return norm;
}

}  // namespace

TEST(LayerNorm, EqualsTorchsForwardAndBackward) {
  torch::manual_seed(1);
  for (const int64_t n : {2, 3, 8, 13, 64, 65}) {
    auto norm = random_norm(n);
    auto x = torch::randn({700, 3, n}).requires_grad_(true);
    const auto weight = torch::randn({700, 3, n});
    const auto gradients = [&](const torch::Tensor& y) {
      return torch::autograd::grad({(y * weight).sum()}, {x, norm->weight, norm->bias});
    };
    const auto ours = layer_norm(x, norm), theirs = norm(x);
    EXPECT_TRUE(torch::allclose(ours, theirs, 1e-4, 1e-5)) << n;
    const auto a = gradients(ours), b = gradients(theirs);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(torch::allclose(a[i], b[i], 1e-3, 1e-3)) << n << " gradient " << i;
  }
}

TEST(LayerNorm, GradientsEqualDifferences) {
  torch::manual_seed(1);
  auto norm = random_norm(5);
  norm->to(torch::kDouble);
  EXPECT_TRUE(test::gradients_match([&](const torch::Tensor& x) { return layer_norm(x, norm); },
                                    torch::randn({4, 5}, torch::kDouble)));
}

TEST(LayerNorm, DoesNotDependOnTheThreads) {
  torch::manual_seed(1);
  auto norm = random_norm(8);
  const auto x = torch::randn({5000, 8});
  const auto gradient = [&](int threads) {
    at::set_num_threads(threads);
    return torch::autograd::grad({layer_norm(x, norm).sin().sum()}, {norm->weight})[0];
  };
  EXPECT_TRUE(gradient(1).equal(gradient(2)));
}

TEST(LayerNorm, RefusesRowsOfAnotherWidth) {
  const auto norm = random_norm(8);
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               layer_norm(torch::randn({2, 7}), norm);
                             }),
                             "layer_norm: rows of 7 do not fit a norm over 8"));
}

}  // namespace vitrine
