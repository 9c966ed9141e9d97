#include "vitrine/ops/activation.h"

#include <torch/torch.h>

#include "tests/support/instruction_sets.h"

namespace vitrine {
namespace {

constexpr auto kAll = {Activation::Gelu, Activation::Relu, Activation::QuickGelu,
                       Activation::GeluTanh};

class ActivationOp : public test::EveryInstructionSet {};

}  // namespace

TEST_P(ActivationOp, EqualsTorchsAndSoDoesItsGradient) {
  for (const auto f : kAll)
    for (const int64_t n : {1, 15, 16, 47, 100001}) {
      SCOPED_TRACE(fmt::format("activation {}, {} numbers", static_cast<int>(f), n));
      const auto x = (torch::randn({n}) * 4).requires_grad_(true);
      const auto exact = x.detach().to(torch::kDouble).requires_grad_(true);
      const auto y = activate(x, f), truth = activate_reference(exact, f);
      const auto dy = torch::randn({n});
      y.backward(dy);
      truth.backward(dy.to(torch::kDouble));
      EXPECT_TRUE(((y - truth).abs() <= 1e-6 * exact.abs()).all().item<bool>());
      const auto difference = (x.grad() - exact.grad()).abs();
      EXPECT_TRUE((difference <= 2e-6 * dy.abs()).all().item<bool>());
    }
}

TEST_P(ActivationOp, OfGeluIsWithin4e7OfTheExactOne) {
  const auto x = torch::randn({100001}) * 4;
  const auto exact = x.to(torch::kDouble);
  const auto error = (activate(x, Activation::Gelu) - torch::gelu(exact)).abs();
  EXPECT_TRUE((error <= 4e-7 * exact.abs()).all().item<bool>());
}

TEST_P(ActivationOp, HoldsAtTheEnds) {
  for (const auto f : kAll) {
    const auto x = torch::tensor({-200.0f, -0.0f, 0.0f, 200.0f}).requires_grad_(true);
    const auto y = activate(x, f);
    y.sum().backward();
    EXPECT_TRUE(torch::allclose(y, torch::tensor({0.0f, 0.0f, 0.0f, 200.0f}), 0, 1e-30))
        << static_cast<int>(f);
    const float middle = f == Activation::Relu ? 0.0f : 0.5f;
    EXPECT_TRUE(torch::allclose(x.grad(), torch::tensor({0.0f, middle, middle, 1.0f})))
        << static_cast<int>(f);
  }
}

TEST_P(ActivationOp, KeepsNanAndHoldsForVeryLargeNumbers) {
  for (const auto f : kAll) {
    const auto x = torch::tensor({NAN, 1e20f, -1e20f, NAN}).requires_grad_(true);
    const auto y = activate(x, f);
    y.sum().backward();
    SCOPED_TRACE(static_cast<int>(f));
    EXPECT_TRUE(y.isnan().equal(torch::tensor({true, false, false, true})));
    EXPECT_EQ(y[1].item<float>(), 1e20f);
    EXPECT_NEAR(y[2].item<float>(), 0, 1e-10);
    EXPECT_EQ(x.grad()[1].item<float>(), 1);
    EXPECT_NEAR(x.grad()[2].item<float>(), 0, 1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, ActivationOp, test::instruction_sets());

TEST(Activate, KeepsStridedInputsAndDoubles) {
  const auto x = torch::randn({6, 10});
  for (const auto f : kAll) {
    EXPECT_TRUE(torch::allclose(activate(x.t(), f), activate_reference(x.t(), f), 1e-5, 1e-6));
    const auto wide = x.to(torch::kDouble);
    EXPECT_TRUE(activate(wide, f).equal(activate_reference(wide, f)));
  }
}

}  // namespace vitrine
