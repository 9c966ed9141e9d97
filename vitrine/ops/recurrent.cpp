#include "vitrine/ops/recurrent.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/kernels/lane_recurrent.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/training/lane_pieces.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

kernels::LaneRecurrent layer_of(const torch::Tensor& x, const tensor_list& weights, Cell cell) {
  return {.cell = cell,
          .T = x.size(1),
          .I = x.size(2),
          .H = weights[1].size(1),
          .input_weight = weights[0].data_ptr<float>(),
          .state_weight = weights[1].data_ptr<float>(),
          .input_bias = weights[2].data_ptr<float>(),
          .state_bias = weights[3].data_ptr<float>()};
}

LanePieces pieces_of(const torch::Tensor& x, const kernels::LaneRecurrent& r) {
  return {x.size(0), 2 * r.T * r.gates() * r.H * (r.H + r.I), kernels::lane_recurrent_memory(r)};
}

struct LastState : torch::autograd::Function<LastState> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& input,
                               const torch::Tensor& input_weight, const torch::Tensor& state_weight,
                               const torch::Tensor& input_bias, const torch::Tensor& state_bias,
                               Cell cell, bool backward_follows) {
    const auto x = input.contiguous();
    const tensor_list weights = {input_weight.contiguous(), state_weight.contiguous(),
                                 input_bias.contiguous(), state_bias.contiguous()};
    const auto layer = layer_of(x, weights, cell);
    auto states = torch::empty({x.size(0), layer.H});
    const auto* in = x.data_ptr<float>();
    auto* out = states.data_ptr<float>();
    const auto kept = pieces_of(x, layer).forward(
        backward_follows, [&](int64_t first, int64_t sequences, float* numbers) {
          kernels::lane_recurrent_forward(layer, in + first * layer.T * layer.I, sequences,
                                          out + first * layer.H, numbers);
        });
    if (!backward_follows) return states;
    ctx->save_for_backward({x, weights[0], weights[1], weights[2], weights[3], kept});
    ctx->saved_data["cell"] = static_cast<int64_t>(cell);
    return states;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto& x = saved[0];
    const tensor_list weights(saved.begin() + 1, saved.begin() + 5);
    const auto layer = layer_of(x, weights, static_cast<Cell>(ctx->saved_data["cell"].toInt()));
    const auto dy = gradients[0].contiguous();
    torch::Tensor dx;
    if (ctx->needs_input_grad(0)) dx = torch::empty_like(x);
    const auto sizes = layer.sizes();
    const auto each = layer.T * layer.I;
    const auto* d_out = dy.data_ptr<float>();
    auto* d_in = dx.defined() ? dx.data_ptr<float>() : nullptr;
    const auto sums = pieces_of(x, layer).backward(
        saved[5], std::accumulate(sizes.begin(), sizes.end(), int64_t{0}),
        [&](int64_t first, int64_t sequences, const float* numbers, float* totals, float* scratch) {
          kernels::lane_recurrent_backward(layer, numbers, d_out + first * layer.H, sequences,
                                           d_in ? d_in + first * each : nullptr, totals, scratch);
        });
    const auto parts = sums.split_with_sizes(sizes);
    return {dx,
            parts[0].view(weights[0].sizes()),
            parts[1].view(weights[1].sizes()),
            parts[2],
            parts[3],
            {},
            {}};
  }
};

/// So small that the numbers of as many sequences as a vector has lanes stay in a cache.
bool suits_lanes(const torch::Tensor& x, int64_t gates, int64_t H) {
  constexpr int64_t kMostNumbers = 1 << 15;
  return x.size(1) * (5 * gates + 2) * H <= kMostNumbers;
}

void check_recurrent(const torch::Tensor& x, const RecurrentWeights& w, int64_t gates) {
  check(x.dim() == 3 && x.size(1) > 0, "recurrent: {} is no (B, T, I) tensor",
        fmt::join(x.sizes(), "x"));
  check(w.state_weight.dim() == 2, "recurrent: the weight of the state is no matrix");
  const auto H = w.state_weight.size(1), G = gates * H;
  const auto fits = [](const torch::Tensor& t, torch::IntArrayRef sizes) {
    check(t.sizes() == sizes, "recurrent: a parameter is {}, expected {}",
          fmt::join(t.sizes(), "x"), fmt::join(sizes, "x"));
  };
  fits(w.input_weight, {G, x.size(2)});
  fits(w.state_weight, {G, H});
  fits(w.input_bias, {G});
  fits(w.state_bias, {G});
}

int64_t gates_of(Cell cell) { return kernels::LaneRecurrent{.cell = cell}.gates(); }

/// Under which a profile or a summary sees it.
const char* record_name(Cell cell) {
  switch (cell) {
    case Cell::Rnn:
      return "vitrine::rnn_tanh";
    case Cell::Lstm:
      return "vitrine::lstm";
    case Cell::Gru:
      return "vitrine::gru";
  }
  fail("cell {} is not known", static_cast<int>(cell));
}

/// By torch's own layers.
torch::Tensor last_state_by_torch(const torch::Tensor& x, const RecurrentWeights& w, Cell cell) {
  const auto zeros = torch::zeros({1, x.size(0), w.state_weight.size(1)}, x.options());
  const tensor_list weights = {w.input_weight, w.state_weight, w.input_bias, w.state_bias};
  const auto run = [&](const auto& layer, const auto& start) {
    return std::get<0>(layer(x, start, weights, /*has_biases=*/true, /*num_layers=*/1,
                             /*dropout=*/0.0, /*train=*/false, /*bidirectional=*/false,
                             /*batch_first=*/true));  // (B, T, H)
  };
  const auto all = [&] {
    switch (cell) {
      case Cell::Rnn:
        return run([](auto&&... a) { return torch::rnn_tanh(a...); }, zeros);
      case Cell::Lstm:
        return run([](auto&&... a) { return torch::lstm(a...); }, tensor_list{zeros, zeros});
      case Cell::Gru:
        return run([](auto&&... a) { return torch::gru(a...); }, zeros);
    }
    fail("recurrent: cell {} is not known", static_cast<int>(cell));
  }();
  return all.select(1, -1);
}

}  // namespace

torch::Tensor last_state_reference(const torch::Tensor& x, const RecurrentWeights& w, Cell cell) {
  check_recurrent(x, w, gates_of(cell));
  auto h = torch::zeros({x.size(0), w.state_weight.size(1)}, x.options()), c = h;
  for (const auto& input : x.unbind(1)) {
    const auto a = torch::linear(input, w.input_weight, w.input_bias),
               b = torch::linear(h, w.state_weight, w.state_bias);
    if (cell == Cell::Rnn) {
      h = torch::tanh(a + b);
    } else if (cell == Cell::Lstm) {
      const auto gates = (a + b).chunk(4, 1);
      c = gates[1].sigmoid() * c + gates[0].sigmoid() * gates[2].tanh();
      h = gates[3].sigmoid() * c.tanh();
    } else {
      const auto from_input = a.chunk(3, 1), from_state = b.chunk(3, 1);
      const auto reset = (from_input[0] + from_state[0]).sigmoid(),
                 update = (from_input[1] + from_state[1]).sigmoid();
      const auto fresh = (from_input[2] + reset * from_state[2]).tanh();
      h = (1 - update) * fresh + update * h;
    }
  }
  return h;
}

torch::Tensor last_state(const torch::Tensor& x, const RecurrentWeights& w, Cell cell) {
  const auto gates = gates_of(cell);
  check_recurrent(x, w, gates);
  const bool ours = has_cpu_kernel(x) && x.numel() > 0 && x.scalar_type() == torch::kFloat &&
                    w.state_weight.scalar_type() == torch::kFloat &&
                    suits_lanes(x, gates, w.state_weight.size(1));
  if (!ours) return last_state_by_torch(x, w, cell);
  // As torch records its own: input, state at the start, weights.
  RECORD_FUNCTION(record_name(cell),
                  std::vector<c10::IValue>(
                      {x, c10::IValue(),
                       tensor_list{w.input_weight, w.state_weight, w.input_bias, w.state_bias}}));
  return LastState::apply(x, w.input_weight, w.state_weight, w.input_bias, w.state_bias, cell,
                          torch::GradMode::is_enabled());
}

}  // namespace vitrine
