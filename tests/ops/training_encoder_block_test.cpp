#include "vitrine/ops/training/encoder_block.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/instruction_sets.h"
#include "vitrine/ops/attention.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/training/linear.h"

namespace vitrine {
namespace {

constexpr auto kBlockPrecisions = {Precision::Float32, Precision::BFloat16};

/// A block with random parameters, an input and a gradient of its output.
struct BlockCase {
  BlockCase(int64_t B, int64_t T, int64_t C, int64_t hidden, bool biases = true)
      : x(torch::randn({B, T, C})), dy(torch::randn({B, T, C})) {
    const auto matrix = [](int64_t n, int64_t k) {
      return torch::randn({n, k}) / std::sqrt(static_cast<double>(k));
    };
    w.gamma1 = 1 + 0.1 * torch::randn({C});
    w.beta1 = 0.1 * torch::randn({C});
    w.qkv_weight = matrix(3 * C, C);
    w.proj_weight = matrix(C, C);
    w.gamma2 = 1 + 0.1 * torch::randn({C});
    w.beta2 = 0.1 * torch::randn({C});
    w.mlp.weight1 = matrix(hidden, C);
    w.mlp.weight2 = matrix(C, hidden);
    if (biases) {
      w.qkv_bias = 0.1 * torch::randn({3 * C});
      w.proj_bias = 0.1 * torch::randn({C});
      w.mlp.bias1 = 0.1 * torch::randn({hidden});
      w.mlp.bias2 = 0.1 * torch::randn({C});
    }
    for (auto& t : leaves()) t.set_requires_grad(true);
  }
  std::vector<torch::Tensor> leaves() const {
    std::vector<torch::Tensor> all = {
        x,        w.gamma1, w.beta1,       w.qkv_weight, w.proj_weight,
        w.gamma2, w.beta2,  w.mlp.weight1, w.mlp.weight2};
    for (const auto& bias : {w.qkv_bias, w.proj_bias, w.mlp.bias1, w.mlp.bias2})
      if (bias.defined()) all.push_back(bias);
    return all;
  }
  /// The output, then the gradients of `leaves`.
  std::vector<torch::Tensor> results(const torch::Tensor& y) const {
    auto all = torch::autograd::grad({y}, leaves(), {dy});
    all.insert(all.begin(), y.detach());
    return all;
  }
  /// Its layers one after the other.
  torch::Tensor layers(const EncoderBlockSettings& s, Precision precision) const {
    const auto B = x.size(0), T = x.size(1), C = x.size(2);
    const auto branch = [&](const torch::Tensor& t) {
      return drop_path(keyed_dropout(t, s.dropout, true), s.drop_path, true);
    };
    const auto qkv = training_linear(torch::layer_norm(x, {C}, w.gamma1, w.beta1, s.norm_eps),
                                     w.qkv_weight, w.qkv_bias, precision);
    const auto mixed =
        packed_attention(qkv.view({B, T, 3, s.heads, C / s.heads}), s.attention_dropout, precision);
    const auto h = x + branch(training_linear(mixed, w.proj_weight, w.proj_bias, precision));
    const auto normed = torch::layer_norm(h, {C}, w.gamma2, w.beta2, s.norm_eps);
    return (s.norm_stream ? normed : h) +
           branch(training_feed_forward(normed, w.mlp, s.activation, s.dropout, precision));
  }

  torch::Tensor x, dy;
  EncoderBlockWeights w;
};

void expect_near_results(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b,
                         double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].sizes(), b[i].sizes());
    const auto error = (a[i] - b[i]).norm().item<double>(), size = b[i].norm().item<double>();
    EXPECT_LE(error, tolerance * (size + 1e-3)) << "result " << i;
  }
}

/// By steps along a random direction in each parameter.
void expect_gradients_equal_differences(const BlockCase& c, const EncoderBlockSettings& settings) {
  const auto run = [&] { return training_encoder_block(c.x, c.w, settings, Precision::Float32); };
  const auto gradients = c.results(run());
  const torch::NoGradGuard no_grad;
  const auto leaves = c.leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    auto direction = torch::randn_like(leaves[i]);
    direction /= direction.norm();
    const auto loss_at = [&](double step) {
      leaves[i].data().add_(direction, step);
      const auto loss = (run() * c.dy).sum().item<double>();
      leaves[i].data().sub_(direction, step);
      return loss;
    };
    constexpr double kStep = 1e-2;
    const auto slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    EXPECT_NEAR((gradients[i + 1] * direction).sum().item<double>(), slope,
                2e-2 * (1 + std::abs(slope)))
        << "leaf " << i;
  }
}

class TrainingEncoderBlocks : public test::EveryInstructionSet {};

}  // namespace

TEST_P(TrainingEncoderBlocks, EqualTheirLayersOneAfterTheOther) {
  struct Size {
    int64_t B, T, C, heads, hidden;
  };
  const EncoderBlockSettings all_dropped{
      .dropout = 0.2, .attention_dropout = 0.3, .drop_path = 0.4};
  for (const auto precision : kBlockPrecisions)
    for (const auto& [B, T, C, heads, hidden] :
         {Size{1, 1, 8, 1, 5}, Size{3, 5, 24, 3, 40}, Size{5, 65, 48, 3, 130},
          Size{2, 197, 64, 2, 64}, Size{101, 4, 8, 2, 32}})
      for (const bool norm_stream : {false, true})
        for (const bool biases : {false, true})
          for (const bool drops : {false, true}) {
            SCOPED_TRACE(
                fmt::format("{}, {} x {} x {}, {} heads, norm_stream {}, biases {}, drops {}",
                            precision_name(precision), B, T, C, heads, norm_stream, biases, drops));
            torch::manual_seed(T);
            const BlockCase c(B, T, C, hidden, biases);
            auto settings = drops ? all_dropped : EncoderBlockSettings{};
            settings.heads = heads;
            settings.activation = static_cast<Activation>(T % 4);
            settings.norm_stream = norm_stream;
            torch::manual_seed(1);
            const auto expected = c.results(c.layers(settings, precision));
            torch::manual_seed(1);
            const auto results = c.results(training_encoder_block(c.x, c.w, settings, precision));
            expect_near_results(results, expected, precision == Precision::Float32 ? 2e-5 : 1e-2);
          }
}

INSTANTIATE_TEST_SUITE_P(Vectors, TrainingEncoderBlocks, test::instruction_sets());

TEST(TrainingEncoderBlock, GradientsEqualDifferences) {
  torch::manual_seed(3);
  expect_gradients_equal_differences(BlockCase(2, 3, 8, 12), {.heads = 2});    // by lanes
  expect_gradients_equal_differences(BlockCase(3, 65, 48, 96), {.heads = 3});  // by chunks
}

TEST(TrainingEncoderBlock, GivesTheSameBitsOnAnyThreads) {
  const auto threads = at::get_num_threads();
  for (const auto precision : kBlockPrecisions) {
    std::vector<torch::Tensor> first;
    for (const int count : {1, 2}) {
      at::set_num_threads(count);
      torch::manual_seed(1);
      const BlockCase c(7, 65, 48, 96);
      const auto all = c.results(training_encoder_block(
          c.x, c.w, {.heads = 3, .dropout = 0.1, .attention_dropout = 0.1}, precision));
      if (first.empty()) first = all;
      for (size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(all[i].equal(first[i])) << i;
    }
  }
  at::set_num_threads(threads);
}

TEST(TrainingEncoderBlock, GivesTheSameWithoutGradients) {
  torch::manual_seed(1);
  const BlockCase c(3, 65, 48, 96);
  for (const auto precision : kBlockPrecisions) {
    const auto with = training_encoder_block(c.x, c.w, {.heads = 3}, precision);
    const torch::NoGradGuard no_grad;
    EXPECT_TRUE(with.equal(training_encoder_block(c.x, c.w, {.heads = 3}, precision)));
  }
}

TEST(TrainingEncoderBlock, RefusesWhatDoesNotFit) {
  const BlockCase c(2, 3, 8, 12);
  const auto refuses = [](const auto& call, const std::string& words) {
    const auto message = test::error_of(call);
    EXPECT_TRUE(test::contains(message, words)) << message;
  };
  const auto run = [&](const torch::Tensor& x, const EncoderBlockWeights& w,
                       const EncoderBlockSettings& settings) {
    training_encoder_block(x, w, settings, Precision::Float32);
  };
  refuses([&] { run(torch::randn({3, 8}), c.w, {}); }, "3x8 (Float) is no (B, T, C) tensor");
  refuses([&] { run(torch::randn({2, 3, 9}), c.w, {}); }, "gamma1 is 8, expected 9");
  refuses([&] { run(c.x, c.w, {.heads = 3}); }, "8 numbers cannot be split among 3 heads");
  refuses([&] { run(c.x, c.w, {.dropout = 1}); }, "dropout probability 1 is not in [0, 1)");
  auto other = c.w;
  other.mlp.weight2 = torch::randn({8, 11});
  refuses([&] { run(c.x, other, {}); }, "weight2 is 8x11, expected 8x12");
}

}  // namespace vitrine
