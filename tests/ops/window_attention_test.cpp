#include "vitrine/ops/window_attention.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

struct WindowSizes {
  int64_t B, W, N, H, D;
  bool reordered, masked;
};

constexpr double kWindowScale = 0.4;

struct WindowInputs {
  torch::Tensor qkv;
  AttentionWindows windows;
};

WindowInputs window_inputs(const WindowSizes& s, torch::ScalarType type) {
  torch::manual_seed(1);
  const auto T = s.W * s.N;
  WindowInputs in{torch::randn({s.B, T, 3, s.H, s.D}, type),
                  {.bias = torch::randn({s.H, s.N, s.N}, type)}};
  if (s.reordered) {
    in.windows.order = torch::randperm(T);
    in.windows.inverse = in.windows.order.argsort();
  }
  if (s.masked) in.windows.mask = torch::rand({s.W, s.N, s.N}).lt(0.3).to(torch::kFloat) * -100;
  return in;
}

torch::Tensor windows_by_kernel(const WindowInputs& in) {
  return window_attention(in.qkv, in.windows, kWindowScale);
}

torch::Tensor windows_by_reference(const WindowInputs& in) {
  const ReferenceOps plain;
  return window_attention(in.qkv, in.windows, kWindowScale);
}

class WindowAttentionOp : public testing::TestWithParam<WindowSizes> {};

}  // namespace

TEST_P(WindowAttentionOp, EqualsItsReference) {
  const auto in = window_inputs(GetParam(), torch::kFloat);
  EXPECT_TRUE(torch::allclose(windows_by_kernel(in), windows_by_reference(in), 1e-5, 1e-5));
}

TEST_P(WindowAttentionOp, GradientsEqualTheReferences) {
  auto a = window_inputs(GetParam(), torch::kFloat), b = window_inputs(GetParam(), torch::kFloat);
  for (auto* in : {&a, &b}) {
    in->qkv.requires_grad_(true);
    in->windows.bias.requires_grad_(true);
  }
  const auto y = windows_by_kernel(a);
  const auto weight = torch::randn_like(y);
  (y * weight).sum().backward();
  (windows_by_reference(b) * weight).sum().backward();
  EXPECT_TRUE(torch::allclose(a.qkv.grad(), b.qkv.grad(), 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(a.windows.bias.grad(), b.windows.bias.grad(), 1e-4, 1e-4));
}

TEST_P(WindowAttentionOp, GradientsWithDropoutEqualDifferences) {
  const auto in = window_inputs(GetParam(), torch::kDouble);
  if (in.qkv.numel() > 500) GTEST_SKIP() << "differences take too long";
  const auto dropped = [](const WindowInputs& changed) {
    torch::manual_seed(5);
    return window_attention(changed.qkv, changed.windows, kWindowScale, 0.4);
  };
  EXPECT_TRUE(test::gradients_match(
      [&](const torch::Tensor& t) {
        return dropped({t, in.windows});
      },
      in.qkv));
  EXPECT_TRUE(test::gradients_match(
      [&](const torch::Tensor& t) {
        auto changed = in;
        changed.windows.bias = t;
        return dropped(changed);
      },
      in.windows.bias));
}

INSTANTIATE_TEST_SUITE_P(Sizes, WindowAttentionOp,
                         testing::Values(WindowSizes{1, 1, 1, 1, 1, false, false},
                                         WindowSizes{2, 3, 4, 2, 3, true, false},
                                         WindowSizes{1, 4, 4, 2, 3, true, true},
                                         WindowSizes{3, 1, 9, 1, 5, false, false},
                                         WindowSizes{2, 9, 49, 3, 32, true, true}));

TEST(WindowAttentionOp, GivesTheSameGradientsWithAnyNumberOfThreads) {
  const auto gradient = [](int threads) {
    const auto before = torch::get_num_threads();
    torch::set_num_threads(threads);
    auto in = window_inputs({2, 4, 16, 3, 8, true, true}, torch::kFloat);
    in.windows.bias.requires_grad_(true);
    windows_by_kernel(in).square().sum().backward();
    torch::set_num_threads(before);
    return in.windows.bias.grad();
  };
  EXPECT_TRUE(gradient(1).equal(gradient(2)));
}

TEST(WindowAttentionOp, RefusesWhatDoesNotFit) {
  auto in = window_inputs({1, 2, 4, 2, 3, true, true}, torch::kFloat);
  const auto error_with = [&](const AttentionWindows& windows) {
    return test::error_of([&] { window_attention(in.qkv, windows, kWindowScale); });
  };
  auto windows = in.windows;
  windows.bias = torch::zeros({3, 4, 4});
  EXPECT_TRUE(test::contains(error_with(windows), "a bias of 3x4x4 does not fit 2 heads"));
  windows = in.windows;
  windows.mask = torch::zeros({1, 4, 4});
  EXPECT_TRUE(test::contains(error_with(windows), "a mask of 1x4x4 is not that of 2 windows"));
  windows = in.windows;
  windows.order = torch::arange(3);
  EXPECT_TRUE(test::contains(error_with(windows), "the order is not that of 8 tokens"));
}

}  // namespace vitrine
