#include "vitrine/ops/gelu.h"

#include <torch/torch.h>

#include "tests/support/instruction_sets.h"

namespace vitrine {
namespace {

class GeluOp : public test::EveryInstructionSet {};

}  // namespace

TEST_P(GeluOp, EqualsTorchsAndSoDoesItsGradient) {
  for (const int64_t n : {1, 15, 16, 47, 100001}) {
    const auto x = (torch::randn({n}) * 4).requires_grad_(true);
    const auto exact = x.detach().to(torch::kDouble).requires_grad_(true);
    const auto y = vitrine::gelu(x), truth = torch::gelu(exact);
    const auto dy = torch::randn({n});
    y.backward(dy);
    truth.backward(dy.to(torch::kDouble));
    EXPECT_TRUE(((y - truth).abs() <= 4e-7 * exact.abs()).all().item<bool>()) << n;
    const auto difference = (x.grad() - exact.grad()).abs();
    EXPECT_TRUE((difference <= 1e-6 * dy.abs()).all().item<bool>()) << n;
  }
}

TEST_P(GeluOp, HoldsAtTheEnds) {
  const auto x = torch::tensor({-200.0f, -0.0f, 0.0f, 200.0f}).requires_grad_(true);
  const auto y = vitrine::gelu(x);
  y.sum().backward();
  EXPECT_TRUE(y.equal(torch::tensor({0.0f, 0.0f, 0.0f, 200.0f})));
  EXPECT_TRUE(torch::allclose(x.grad(), torch::tensor({0.0f, 0.5f, 0.5f, 1.0f})));
}

INSTANTIATE_TEST_SUITE_P(Vectors, GeluOp, test::instruction_sets());

TEST(Gelu, KeepsStridedInputsAndDoubles) {
  const auto x = torch::randn({6, 10});
  EXPECT_TRUE(torch::allclose(vitrine::gelu(x.t()), torch::gelu(x.t()), 1e-6, 1e-6));
  const auto wide = x.to(torch::kDouble);
  EXPECT_TRUE(vitrine::gelu(wide).equal(torch::gelu(wide)));
}

}  // namespace vitrine
