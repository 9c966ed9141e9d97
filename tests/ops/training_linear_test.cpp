#include "vitrine/ops/training/linear.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/instruction_sets.h"
#include "vitrine/ops/packed_linear.h"

namespace vitrine {
namespace {

constexpr auto kPrecisions = {Precision::Float32, Precision::BFloat16};

/// Numbers as they are multiplied.
torch::Tensor rounded(const torch::Tensor& x, Precision precision) {
  return (precision == Precision::BFloat16 ? x.to(torch::kBFloat16) : x).to(torch::kDouble);
}

/// Whether the fp32 sums of `count` products with these exact ones differ by rounding alone.
bool same_sums(const torch::Tensor& sums, const torch::Tensor& exact, const torch::Tensor& sizes,
               int64_t count) {
  const auto bound = sizes * (static_cast<double>(count + 2) / (1 << 23));
  return ((sums.to(torch::kDouble) - exact).abs() <= bound).all().item<bool>();
}

struct Layer {
  Layer(int64_t M, int64_t N, int64_t K)
      : x(torch::randn({M, K})),
        weight(torch::randn({N, K})),
        bias(torch::randn({N})),
        dy(torch::randn({M, N})) {
    for (auto* t : {&x, &weight, &bias}) t->set_requires_grad(true);
  }

  torch::Tensor x, weight, bias, dy;
};

class TrainingProducts : public test::EveryInstructionSet {};

}  // namespace

TEST_P(TrainingProducts, RoundsTheFactorsOfEveryProductAndNothingElse) {
  for (const auto precision : kPrecisions)
    for (const int64_t M : {1, 7, 50})
      for (const int64_t N : {1, 17, 130})
        for (const int64_t K : {1, 31, 64, 147}) {
          SCOPED_TRACE(fmt::format("{}, {} x {} x {}", precision_name(precision), M, N, K));
          const Layer c(M, N, K);
          const auto y = training_linear(c.x, c.weight, c.bias, precision);
          y.backward(c.dy);
          const auto x = rounded(c.x, precision), w = rounded(c.weight, precision),
                     dy = rounded(c.dy, precision);
          EXPECT_TRUE(same_sums(y, x.matmul(w.t()) + c.bias,
                                x.abs().matmul(w.abs().t()) + c.bias.abs(), K));
          EXPECT_TRUE(same_sums(c.x.grad(), dy.matmul(w), dy.abs().matmul(w.abs()), N));
          EXPECT_TRUE(
              same_sums(c.weight.grad(), dy.t().matmul(x), dy.t().abs().matmul(x.abs()), M));
          EXPECT_TRUE(torch::allclose(c.bias.grad(), c.dy.sum(0), 1e-5, 1e-5));
        }
}

TEST_P(TrainingProducts, SumsMoreThanTheKernelsDoAtATime) {
  for (const auto precision : kPrecisions) {
    const Layer c(2501, 9, 2500);
    const auto y = training_linear(c.x, c.weight, {}, precision);
    y.backward(c.dy);
    const auto x = rounded(c.x, precision), w = rounded(c.weight, precision),
               dy = rounded(c.dy, precision);
    EXPECT_TRUE(same_sums(y, x.matmul(w.t()), x.abs().matmul(w.abs().t()), 2500));
    EXPECT_TRUE(same_sums(c.weight.grad(), dy.t().matmul(x), dy.t().abs().matmul(x.abs()), 2501));
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, TrainingProducts, test::instruction_sets());

TEST(TrainingLinear, GivesTheSameBitsOnAnyThreads) {
  const auto threads = at::get_num_threads();
  for (const auto precision : kPrecisions) {
    std::vector<torch::Tensor> first;
    for (const int count : {1, 2}) {
      at::set_num_threads(count);
      torch::manual_seed(1);
      const Layer c(301, 200, 128);
      const auto y = training_linear(c.x.view({7, 43, 128}), c.weight, c.bias, precision);
      EXPECT_EQ(y.sizes(), (std::vector<int64_t>{7, 43, 200}));
      y.backward(c.dy.view({7, 43, 200}));
      const std::vector<torch::Tensor> all = {y, c.x.grad(), c.weight.grad(), c.bias.grad()};
      if (first.empty()) first = all;
      for (size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(all[i].equal(first[i])) << i;
    }
  }
  at::set_num_threads(threads);
}

TEST(TrainingLinear, LeavesOutGradientsThatNobodyAsksFor) {
  const Layer c(5, 6, 7);
  const auto fixed = c.weight.detach();
  training_linear(c.x, fixed, {}, Precision::BFloat16).sum().backward();
  EXPECT_TRUE(c.x.grad().defined());
  EXPECT_FALSE(fixed.grad().defined());
  training_linear(c.x.detach(), c.weight, c.bias, Precision::Float32).sum().backward();
  EXPECT_TRUE(c.weight.grad().defined() && c.bias.grad().defined());
}

TEST(TrainingLinear, RefusesWhatDoesNotFit) {
  const auto weight = torch::randn({3, 4});
  const auto refuses = [&](const torch::Tensor& x, const std::string& words) {
    EXPECT_TRUE(test::contains(
        test::error_of([&] { training_linear(x, weight, {}, Precision::Float32); }), words));
  };
  refuses(torch::randn({2, 5}), "linear: rows of 5 (Float) do not fit a weight of 3x4");
  refuses(torch::randn({2, 4}, torch::kDouble), "linear: rows of 4 (Double) do not fit");
}

}  // namespace vitrine
