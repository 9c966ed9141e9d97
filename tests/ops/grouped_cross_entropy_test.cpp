#include "vitrine/ops/grouped_cross_entropy.h"

#include <array>

#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace vitrine {
namespace {

constexpr std::array<int64_t, 3> kGroups = {2, 10, 5};
constexpr int64_t kWidth = 17;

torch::Tensor random_choices(int64_t rows) {
  std::vector<torch::Tensor> columns;
  for (const auto n : kGroups) columns.push_back(torch::randint(n, {rows}, torch::kLong));
  return torch::stack(columns, 1);
}

}  // namespace

TEST(GroupedCrossEntropy, EqualsTorchsForwardAndBackward) {
  torch::manual_seed(1);
  for (const int64_t rows : {1, 7, 500}) {
    for (const double smoothing : {0.0, 0.1}) {
      auto logits = (3 * torch::randn({rows, kWidth})).requires_grad_(true);
      const auto targets = random_choices(rows);
      const auto ours = grouped_cross_entropy(logits, targets, kGroups, smoothing);
      const auto theirs = grouped_cross_entropy_reference(logits, targets, kGroups, smoothing);
      EXPECT_TRUE(torch::allclose(ours, theirs, 1e-5, 1e-6)) << rows << ' ' << smoothing;
      const auto a = torch::autograd::grad({2 * ours}, {logits})[0];
      const auto b = torch::autograd::grad({2 * theirs}, {logits})[0];
      EXPECT_TRUE(torch::allclose(a, b, 1e-4, 1e-7)) << rows << ' ' << smoothing;
    }
  }
}

TEST(GroupedCrossEntropy, StaysFiniteForGreatScores) {
  const auto logits = torch::full({2, kWidth}, 1e4).requires_grad_(true);
  const auto loss = grouped_cross_entropy(logits, torch::zeros({2, 3}, torch::kLong), kGroups);
  EXPECT_NEAR(loss.item<double>(), (std::log(2) + std::log(10) + std::log(5)) / 3, 1e-5);
}

TEST(GroupedCrossEntropy, GradientsEqualDifferences) {
  torch::manual_seed(1);
  const auto targets = random_choices(3);
  EXPECT_TRUE(test::gradients_match(
      [&](const torch::Tensor& x) { return grouped_cross_entropy(x, targets, kGroups, 0.1); },
      torch::randn({3, kWidth}, torch::kDouble)));
}

TEST(GroupedCrossEntropy, RefusesShapesAndTargetsThatDoNotFit) {
  const auto message = [](const torch::Tensor& logits, const torch::Tensor& targets) {
    return test::error_of([&] { grouped_cross_entropy(logits, targets, kGroups); });
  };
  const auto zeros = torch::zeros({4, 3}, torch::kLong);
  EXPECT_TRUE(test::contains(message(torch::randn({4, 16}), zeros),
                             "logits 4x16 and targets 4x3 do not fit groups of 2, 10, 5"));
  EXPECT_TRUE(test::contains(message(torch::randn({4, kWidth}), zeros.to(torch::kInt)), "int64"));
  EXPECT_TRUE(test::contains(message(torch::randn({4, kWidth}), zeros + 2),
                             "target 2 is not one of 2 choices"));
}

}  // namespace vitrine
