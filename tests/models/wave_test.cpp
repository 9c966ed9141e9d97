#include "vitrine/models/wave.h"

#include "tests/support/errors.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/waves.h"
#include "vitrine/nn/attention.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/optimizer.h"

namespace vitrine {
namespace {

/// The loss on new waves after some steps over waves, and that of answering 0.
std::pair<double, double> loss_after(Model& model, int steps) {
  const auto data = waves({.train = 32 * steps, .validation = 1, .test = 256}, /*seed=*/1);
  const auto objective = make_objective(data, ObjectiveSettings(/*smoothing=*/0));
  Optimizer optimizer({.weight_decay = 0}, model.parameter_info());
  const auto rows = [](int64_t first, int64_t count) {
    std::vector<int64_t> indices(count);
    std::iota(indices.begin(), indices.end(), first);
    return indices;
  };
  for (int step = 0; step < steps; ++step) {
    const auto batch = data.train->load(rows(32 * step, 32), 0);
    objective->loss(model, batch).loss.backward();
    optimizer.step(/*lr=*/3e-3, /*gradient_scale=*/1);
    optimizer.zero_gradients();
  }
  const torch::NoGradGuard no_grad;
  const auto test = data.test->load(rows(0, 256), -1);
  return {objective->loss(model, test).loss.item<double>(),
          test.targets.square().mean().item<double>()};
}

}  // namespace

TEST(WaveTransformer, LearnsHowWavesGoOn) {
  torch::manual_seed(1);
  WaveTransformer model(WaveTransformerConfig{});
  const auto [loss, of_zero] = loss_after(model, 200);
  EXPECT_LT(loss, 0.3 * of_zero);
}

TEST(WaveRnn, LearnsHowWavesGoOnWithEveryCell) {
  for (const auto& [name, cell] : cell_names()) {
    torch::manual_seed(1);
    WaveRnn model({.cell = cell});
    const auto [loss, of_zero] = loss_after(model, 200);
    EXPECT_LT(loss, 0.3 * of_zero) << name;
  }
}

TEST(WaveTransformer, IsTheFormula) {
  torch::manual_seed(1);
  WaveTransformer model({.length = 6, .dim = 8, .heads = 2, .hidden = 12});
  const auto values = model.example_input(3);
  const auto block = &model.blocks->at<EncoderBlockImpl>(0);
  auto x = model.embed(values.unsqueeze(2)) + sinusoidal_encoding(6, 8);
  x = block->forward(x);
  const auto expected = model.head(model.norm(x).select(1, 5)).squeeze(1);
  EXPECT_TRUE(torch::allclose(model.forward(values), expected, 1e-5, 1e-5));
}

TEST(WaveTransformer, EveryKindOfPositionsWorks) {
  for (const auto& [name, kind] : positional_encoding_names()) {
    WaveTransformer model({.length = 6, .dim = 8, .heads = 2, .hidden = 12, .positions = kind});
    const auto y = model.forward(model.example_input(3));
    EXPECT_EQ(y.sizes(), (std::vector<int64_t>{3})) << name;
    y.sum().backward();
    EXPECT_TRUE(torch::isfinite(model.embed->weight.grad()).all().item<bool>()) << name;
  }
}

TEST(WaveTransformer, TakesShorterWavesAndLongerOnesWhereNoTableEnds) {
  const WaveTransformerConfig config{.length = 6, .dim = 8, .heads = 2, .hidden = 12};
  WaveTransformer model(config);
  EXPECT_EQ(model.forward(torch::randn({3, 4})).size(0), 3);
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               model.forward(torch::randn({3, 7}));
                             }),
                             "a sequence of 7 values is longer than length 6"));
  for (const auto kind : {PositionalEncoding::Relative, PositionalEncoding::None}) {
    auto free = config;
    free.positions = kind;
    EXPECT_EQ(WaveTransformer(free).forward(torch::randn({3, 7})).size(0), 3);
  }
}

TEST(WaveTransformer, SeesTheOrderOnlyThroughPositions) {
  torch::manual_seed(1);
  const auto forwards = torch::randn({2, 6});
  auto swapped = forwards.clone();  // the last value stays, for it is the one that asks
  swapped.select(1, 0).copy_(forwards.select(1, 3));
  swapped.select(1, 3).copy_(forwards.select(1, 0));
  for (const auto& [name, kind] : positional_encoding_names()) {
    // A norm before the attention would take away linear positions, equal in every channel.
    WaveTransformer model({.length = 6,
                           .dim = 8,
                           .heads = 2,
                           .hidden = 12,
                           .positions = kind,
                           .norm = NormPosition::Post});
    if (kind == PositionalEncoding::Relative) {
      const torch::NoGradGuard no_grad;
      model.blocks->at<EncoderBlockImpl>(0).attn->as<Attention>()->relative_bias.normal_();
    }
    const auto difference = (model.forward(forwards) - model.forward(swapped)).abs().max();
    EXPECT_EQ(difference.item<double>() < 1e-6, kind == PositionalEncoding::None) << name;
  }
}

TEST(WaveRnn, IsTheFormula) {
  torch::manual_seed(1);
  WaveRnn model({.hidden = 5});
  const auto values = model.example_input(2);
  const auto weights = model.rnn->parameters();  // of the input, of the state, and their biases
  auto state = torch::zeros({2, 5});
  for (const auto& value : values.unbind(1))
    state = torch::tanh(torch::linear(value.unsqueeze(1), weights[0], weights[2]) +
                        torch::linear(state, weights[1], weights[3]));
  EXPECT_TRUE(torch::allclose(model.forward(values), model.head(state).squeeze(1), 1e-5, 1e-6));
}

TEST(Wave, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(test::contains(test::error_of([] { WaveTransformer({.dim = 30, .heads = 4}); }),
                             "wave_transformer: dim 30 is not a multiple of heads 4"));
  EXPECT_TRUE(test::contains(test::error_of([] { WaveRnn({.hidden = 0}); }),
                             "wave_rnn: hidden 0 must be positive"));
  WaveRnn model({.hidden = 2});
  EXPECT_TRUE(test::contains(test::error_of([&] {
                               model.forward(torch::randn({2, 3, 1}));
                             }),
                             "wave: input 2x3x1 is not (B, T) values"));
}

}  // namespace vitrine
