#include "vitrine/ops/training/feed_forward.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/instruction_sets.h"
#include "vitrine/ops/activation.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/training/linear.h"

namespace vitrine {
namespace {

struct Network {
  Network(int64_t M, int64_t C, int64_t H, int64_t N, bool biases = true)
      : x(torch::randn({M, C})), dy(torch::randn({M, N})) {
    weights.weight1 = torch::randn({H, C}) / std::sqrt(static_cast<double>(C));
    weights.weight2 = torch::randn({N, H}) / std::sqrt(static_cast<double>(H));
    if (biases) {
      weights.bias1 = torch::randn({H});
      weights.bias2 = torch::randn({N});
    }
    for (auto& t : leaves()) t.set_requires_grad(true);
  }
  std::vector<torch::Tensor> leaves() const {
    std::vector<torch::Tensor> all = {x, weights.weight1, weights.weight2};
    if (weights.bias1.defined()) all.insert(all.end(), {weights.bias1, weights.bias2});
    return all;
  }
  /// The output, then the gradients of `leaves`.
  std::vector<torch::Tensor> results(const torch::Tensor& y) const {
    auto all = torch::autograd::grad({y}, leaves(), {dy});
    all.insert(all.begin(), y.detach());
    return all;
  }
  /// With the activation function at its input, or at that rounded to bf16.
  torch::Tensor one_after_the_other(Activation f, double p, Precision precision, bool round) const {
    auto before = training_linear(x, weights.weight1, weights.bias1, precision);
    if (round) before = before + (before.to(torch::kBFloat16).to(torch::kFloat) - before).detach();
    const auto hidden = activate(before, f);
    return training_linear(keyed_dropout(hidden, p, /*training=*/true), weights.weight2,
                           weights.bias2, precision);
  }

  torch::Tensor x, dy;
  FeedForwardWeights weights;
};

constexpr auto kBf16 = Precision::BFloat16;
constexpr auto kGelu = Activation::Gelu;
constexpr auto kBoth = {Precision::Float32, Precision::BFloat16};

class TrainingFeedForwards : public test::EveryInstructionSet {};

}  // namespace

TEST_P(TrainingFeedForwards, EqualTheirLayersOneAfterTheOther) {
  for (const auto precision : kBoth)
    for (const int64_t M : {1, 7, 50, 97})
      for (const int64_t H : {1, 31, 130})
        for (const bool biases : {false, true})
          for (const double p : {0.0, 0.3}) {
            SCOPED_TRACE(fmt::format("{}, {} rows, {} hidden, biases {}, p {}",
                                     precision_name(precision), M, H, biases, p));
            torch::manual_seed(M + H);
            const Network n(M, /*C=*/33, H, /*N=*/17, biases);
            const auto f = static_cast<Activation>((M + H) % 4);
            const auto expected = [&](bool round) {
              torch::manual_seed(1);
              return n.results(n.one_after_the_other(f, p, precision, round));
            };
            const auto exact = expected(false),
                       rounded = expected(precision == Precision::BFloat16);
            torch::manual_seed(1);
            const auto results = n.results(training_feed_forward(n.x, n.weights, f, p, precision));
            EXPECT_TRUE(results[0].equal(exact[0]));    // the output
            EXPECT_TRUE(results[1].equal(rounded[1]));  // gradients of the input,
            EXPECT_TRUE(results[2].equal(rounded[2]));  // of the first weight
            EXPECT_TRUE(results[3].equal(rounded[3]));  // and of the second
            if (!biases) continue;
            EXPECT_TRUE(torch::allclose(results[4], rounded[4], 1e-5, 1e-5));
            EXPECT_TRUE(results[5].equal(exact[5]));
          }
}

INSTANTIATE_TEST_SUITE_P(Vectors, TrainingFeedForwards, test::instruction_sets());

TEST(TrainingFeedForward, GivesTheSameBitsOnAnyThreads) {
  const auto threads = at::get_num_threads();
  for (const auto precision : kBoth) {
    std::vector<torch::Tensor> first;
    for (const int count : {1, 2}) {
      at::set_num_threads(count);
      torch::manual_seed(1);
      const Network n(301, 64, 200, 64);
      const auto all = n.results(training_feed_forward(n.x, n.weights, kGelu, 0.1, precision));
      if (first.empty()) first = all;
      for (size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(all[i].equal(first[i])) << i;
    }
  }
  at::set_num_threads(threads);
}

TEST(TrainingFeedForward, LeavesOutGradientsThatNobodyAsksFor) {
  const Network n(5, 6, 7, 8);
  auto fixed = n.weights;
  for (auto* t : {&fixed.weight1, &fixed.bias1, &fixed.weight2}) *t = t->detach();
  const auto full = n.results(training_feed_forward(n.x, n.weights, kGelu, 0, kBf16));
  training_feed_forward(n.x, fixed, kGelu, 0, kBf16).backward(n.dy);
  EXPECT_TRUE(n.x.grad().equal(full[1]));
  EXPECT_TRUE(fixed.bias2.grad().equal(full[5]));
  EXPECT_FALSE(fixed.weight1.grad().defined() || fixed.weight2.grad().defined());
  training_feed_forward(n.x.detach(), {fixed.weight1, fixed.bias1, n.weights.weight2, {}}, kGelu, 0,
                        kBf16)
      .backward(n.dy);
  EXPECT_TRUE(n.weights.weight2.grad().equal(full[3]));
}

TEST(TrainingFeedForward, TakesRowsOfAnyShape) {
  const Network n(12, 6, 7, 8);
  const auto y = training_feed_forward(n.x.view({3, 4, 6}), n.weights, kGelu, 0, kBf16);
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{3, 4, 8}));
  EXPECT_TRUE(y.view({12, 8}).equal(training_feed_forward(n.x, n.weights, kGelu, 0, kBf16)));
}

TEST(TrainingFeedForward, RefusesWhatDoesNotFit) {
  const Network n(5, 6, 7, 8);
  const auto refuses = [](const auto& call, const std::string& words) {
    EXPECT_TRUE(test::contains(test::error_of(call), words));
  };
  refuses(
      [&] {
        training_feed_forward(torch::randn({2, 5}), n.weights, kGelu, 0, kBf16);
      },
      "linear: rows of 5 (Float) do not fit a weight of 7x6");
  refuses(
      [&] {
        training_feed_forward(n.x, {n.weights.weight1, {}, torch::randn({8, 9}), {}}, kGelu, 0,
                              kBf16);
      },
      "feed_forward: a second weight of 8x9 does not fit 7 hidden numbers");
  refuses([&] { training_feed_forward(n.x, n.weights, kGelu, 1, kBf16); },
          "feed_forward: dropout probability 1 is not in [0, 1)");
}

}  // namespace vitrine
