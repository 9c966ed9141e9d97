#include "vitrine/ops/lookup.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"

namespace vitrine {

TEST(Lookup, EqualsItsReferenceAndSoDoesItsGradient) {
  torch::manual_seed(1);
  for (const int64_t rows : {1, 3, 9000})
    for (const auto type : {torch::kFloat, torch::kDouble}) {
      const auto table = torch::randn({10, 7}, type).requires_grad_(true);
      const auto indices = torch::randint(10, {rows, 4}, torch::kLong);
      const auto dy = torch::randn({rows, 4, 7}, type);
      const auto ours = lookup(indices, table), expected = lookup_reference(indices, table);
      EXPECT_TRUE(ours.equal(expected));
      const auto gradient = [&](const torch::Tensor& y) {
        return torch::autograd::grad({y}, {table}, {dy})[0];
      };
      EXPECT_TRUE(torch::allclose(gradient(ours), gradient(expected), 1e-4, 1e-3));
    }
}

TEST(Lookup, DoesNotDependOnTheThreads) {
  const auto threads = at::get_num_threads();
  const auto table = torch::randn({10, 8}).requires_grad_(true);
  const auto indices = torch::randint(10, {30000}, torch::kLong);
  const auto gradient = [&](int count) {
    at::set_num_threads(count);
    return torch::autograd::grad({lookup(indices, table).sin().sum()}, {table})[0];
  };
  EXPECT_TRUE(gradient(1).equal(gradient(2)));
  at::set_num_threads(threads);
}

TEST(Lookup, RefusesWhatDoesNotFit) {
  const auto table = torch::randn({10, 8});
  const auto refuses = [&](const torch::Tensor& indices, const torch::Tensor& t,
                           const std::string& words) {
    const auto message = test::error_of([&] { lookup(indices, t); });
    EXPECT_TRUE(test::contains(message, words)) << message;
  };
  refuses(torch::tensor({3, 10}), table, "lookup: an index is not among the 10 rows");
  refuses(torch::tensor({-1}), table, "lookup: an index is not among the 10 rows");
  refuses(torch::tensor({1.0}), table, "give a matrix and int64");
  refuses(torch::tensor({1}), table[0], "give a matrix and int64");
}

}  // namespace vitrine
