#include "vitrine/ops/training/small_linear.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/errors.h"

namespace vitrine {

TEST(SmallLinear, EqualsTorchsAndSoDoItsGradients) {
  torch::manual_seed(1);
  for (const int64_t M : {1, 7, 300})
    for (const int64_t K : {1, 12, 33})
      for (const int64_t N : {1, 22})
        for (const bool biased : {false, true}) {
          SCOPED_TRACE(fmt::format("{} x {} x {}, bias {}", M, K, N, biased));
          const auto x = torch::randn({M, 2, K}).requires_grad_(true),
                     w = torch::randn({N, K}).requires_grad_(true),
                     b = torch::randn({N}).requires_grad_(true), dy = torch::randn({M, 2, N});
          std::vector<torch::Tensor> leaves = {x, w};
          if (biased) leaves.push_back(b);
          const auto results = [&](const torch::Tensor& y) {
            auto all = torch::autograd::grad({y}, leaves, {dy});
            all.push_back(y.detach());
            return all;
          };
          const auto bias = biased ? b : torch::Tensor();
          const auto ours = results(small_linear(x, w, bias)),
                     expected = results(torch::linear(x, w, bias));
          for (size_t i = 0; i < ours.size(); ++i)
            EXPECT_TRUE(torch::allclose(ours[i], expected[i], 1e-4, 1e-4)) << "result " << i;
        }
}

TEST(SmallLinear, LeavesOutGradientsThatNobodyAsksFor) {
  const auto x = torch::randn({3, 4}), b = torch::randn({5}), dy = torch::randn({3, 5});
  const auto w = torch::randn({5, 4}).requires_grad_(true);
  small_linear(x, w, b).backward(dy);
  EXPECT_TRUE(torch::allclose(w.grad(), dy.t().mm(x), 1e-5, 1e-5));
  EXPECT_FALSE(b.grad().defined() || x.grad().defined());
}

TEST(SmallLinear, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(test::error_of([] {
                               small_linear(torch::randn({2, 3}), torch::randn({4, 5}), {});
                             }),
                             "linear: rows of 3 (Float) do not fit a weight of 4x5"));
}

}  // namespace vitrine
