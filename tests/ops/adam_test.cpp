#include "vitrine/ops/adam.h"

#include <torch/torch.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

kernels::AdamStep step_at(int t, double decoupled, double l2) {
  return {.lr = 0.01,
          .beta1 = 0.9,
          .beta2 = 0.99,
          .eps = 1e-8,
          .decoupled_decay = decoupled,
          .l2_decay = l2,
          .correction1 = 1 - std::pow(0.9, t),
          .correction2 = 1 - std::pow(0.99, t),
          .gradient_scale = 0.5};
}

}  // namespace

TEST(Adam, EqualsItsReferenceForAnySize) {
  torch::manual_seed(1);
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    for (const int64_t n : {1, 3, 8, 17, 100003}) {
      auto w = torch::randn(n, type), m = torch::zeros(n, type), v = torch::zeros(n, type);
      auto w2 = w.clone(), m2 = m.clone(), v2 = v.clone();
      for (int t = 1; t <= 3; ++t) {
        const auto g = torch::randn(n, type);
        adam_update(step_at(t, 0.1, 0.02), w, g, m, v);
        adam_update_reference(step_at(t, 0.1, 0.02), w2, g, m2, v2);
      }
      EXPECT_TRUE(torch::allclose(w, w2, 1e-5, 1e-6)) << n;
      EXPECT_TRUE(torch::allclose(v, v2, 1e-5, 1e-7)) << n;
    }
  }
}

TEST(Adam, RefusesTensorsOfDifferentShape) {
  auto w = torch::zeros(3), m = torch::zeros(3), v = torch::zeros(3);
  EXPECT_THROW(adam_update(step_at(1, 0, 0), w, torch::zeros(4), m, v), Error);
}

TEST(JointNorm, EqualsTorchAndSkipsUndefined) {
  const auto a = torch::randn({300, 301}), b = torch::randn(7, torch::kDouble);
  const double expected = std::sqrt(a.to(torch::kDouble).square().sum().item<double>() +
                                    b.square().sum().item<double>());
  EXPECT_NEAR(joint_norm({a, {}, b}), expected, 1e-9 * expected);
}

}  // namespace vitrine
