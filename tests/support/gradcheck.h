#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>

namespace vitrine::test {

/// Passes if the gradient of sum(f(x) * w), w fixed and random, equals central differences.
/// `x` should be double; f must be deterministic.
inline testing::AssertionResult gradients_match(
    const std::function<torch::Tensor(const torch::Tensor&)>& f, torch::Tensor x,
    double tolerance = 1e-6) {
  x = x.to(torch::kDouble).detach().clone().requires_grad_(true);
  const auto y = f(x);
  const auto weight = torch::randn_like(y);
  const auto gradient = torch::autograd::grad({(y * weight).sum()}, {x})[0].contiguous();
  const torch::NoGradGuard no_grad;
  auto flat = x.detach().clone();
  auto* value = flat.data_ptr<double>();
  const auto* expected = gradient.data_ptr<double>();
  constexpr double kStep = 1e-5;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const double kept = value[i];
    value[i] = kept + kStep;
    const double up = (f(flat) * weight).sum().item<double>();
    value[i] = kept - kStep;
    const double down = (f(flat) * weight).sum().item<double>();
    value[i] = kept;
    const double difference = (up - down) / (2 * kStep);
    if (std::abs(difference - expected[i]) > tolerance * (1 + std::abs(difference)))
      return testing::AssertionFailure() << "element " << i << ": gradient " << expected[i]
                                         << ", by differences " << difference;
  }
  return testing::AssertionSuccess();
}

}  // namespace vitrine::test
