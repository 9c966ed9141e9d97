#include "vitrine/ops/recurrent.h"

#include <torch/torch.h>

#include "tests/support/errors.h"
#include "tests/support/instruction_sets.h"

namespace vitrine {
namespace {

constexpr auto kCells = {Cell::Rnn, Cell::Lstm, Cell::Gru};

RecurrentWeights random_weights(Cell cell, int64_t I, int64_t H) {
  const auto G = (cell == Cell::Rnn ? 1 : cell == Cell::Lstm ? 4 : 3) * H;
  const double scale = 1 / std::sqrt(static_cast<double>(H));
  return {torch::randn({G, I}) * scale, torch::randn({G, H}) * scale, torch::randn({G}) * scale,
          torch::randn({G}) * scale};
}

class RecurrentOp : public test::EveryInstructionSet {};

}  // namespace

TEST_P(RecurrentOp, EqualsItsReferenceAndSoDoItsGradients) {
  for (const auto cell : kCells)
    for (const int64_t B : {1, 3, 16, 37})
      for (const int64_t T : {1, 2, 20})
        for (const int64_t H : {1, 7, 16}) {
          SCOPED_TRACE(
              fmt::format("cell {}, {} x {}, {} numbers", static_cast<int>(cell), B, T, H));
          auto w = random_weights(cell, 2, H);
          const auto x = torch::randn({B, T, 2}).requires_grad_(true);
          const std::vector<torch::Tensor> leaves = {x, w.input_weight, w.state_weight,
                                                     w.input_bias, w.state_bias};
          for (auto t : leaves) t.set_requires_grad(true);
          const auto dy = torch::randn({B, H});
          const auto results = [&](const torch::Tensor& y) {
            auto all = torch::autograd::grad({y}, leaves, {dy});
            all.push_back(y.detach());
            return all;
          };
          const auto ours = results(last_state(x, w, cell)),
                     expected = results(last_state_reference(x, w, cell));
          for (size_t i = 0; i < ours.size(); ++i)
            EXPECT_TRUE(torch::allclose(ours[i], expected[i], 1e-4, 1e-5)) << "result " << i;
        }
}

INSTANTIATE_TEST_SUITE_P(Vectors, RecurrentOp, test::instruction_sets());

TEST(LastState, EqualsTorchsLayers) {
  torch::manual_seed(1);
  const auto x = torch::randn({5, 9, 3});
  const auto check = [&](auto layer, Cell cell) {
    const auto w = layer->all_weights();
    const auto expected = std::get<0>(layer->forward(x)).select(1, -1);
    EXPECT_TRUE(
        torch::allclose(last_state(x, {w[0], w[1], w[2], w[3]}, cell), expected, 1e-4, 1e-5));
    // Doubles have no kernel.
    layer->to(torch::kDouble);
    const auto wide = layer->all_weights();
    EXPECT_TRUE(last_state(x.to(torch::kDouble), {wide[0], wide[1], wide[2], wide[3]}, cell)
                    .equal(std::get<0>(layer->forward(x.to(torch::kDouble))).select(1, -1)));
  };
  check(torch::nn::RNN(torch::nn::RNNOptions(3, 8).batch_first(true)), Cell::Rnn);
  check(torch::nn::LSTM(torch::nn::LSTMOptions(3, 8).batch_first(true)), Cell::Lstm);
  check(torch::nn::GRU(torch::nn::GRUOptions(3, 8).batch_first(true)), Cell::Gru);
}

TEST(LastState, DoesNotDependOnTheThreads) {
  const auto threads = at::get_num_threads();
  const auto w = random_weights(Cell::Gru, 1, 32);
  const auto weight = w.state_weight.set_requires_grad(true);
  const auto x = torch::randn({300, 20, 1});
  const auto gradient = [&](int count) {
    at::set_num_threads(count);
    return torch::autograd::grad({last_state(x, w, Cell::Gru).sin().sum()}, {weight})[0];
  };
  EXPECT_TRUE(gradient(1).equal(gradient(2)));
  at::set_num_threads(threads);
}

TEST(LastState, KeepsNanAndTakesAnEmptyBatch) {
  for (const auto cell : {Cell::Rnn, Cell::Lstm, Cell::Gru}) {
    const auto w = random_weights(cell, 2, 8);
    auto x = torch::randn({40, 5, 2});
    x[17][3][1] = NAN;
    const auto damaged = last_state(x, w, cell).isnan().any(1);
    EXPECT_TRUE(damaged.nonzero().flatten().equal(torch::tensor({17L}))) << static_cast<int>(cell);
    EXPECT_EQ(last_state(torch::empty({0, 5, 2}), w, cell).sizes(), (torch::IntArrayRef{0, 8}));
  }
}

TEST(LastState, RefusesWhatDoesNotFit) {
  const auto w = random_weights(Cell::Lstm, 2, 4);
  const auto refuses = [&](const torch::Tensor& x, Cell cell, const std::string& words) {
    const auto message = test::error_of([&] { last_state(x, w, cell); });
    EXPECT_TRUE(test::contains(message, words)) << message;
  };
  refuses(torch::randn({3, 2}), Cell::Lstm, "recurrent: 3x2 is no (B, T, I) tensor");
  refuses(torch::randn({3, 5, 1}), Cell::Lstm, "a parameter is 16x2, expected 16x1");
  refuses(torch::randn({3, 5, 2}), Cell::Gru, "a parameter is 16x2, expected 12x2");
}

}  // namespace vitrine
