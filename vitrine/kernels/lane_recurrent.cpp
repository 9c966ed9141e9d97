#include "vitrine/kernels/lane_recurrent.h"

// Vectors of a size that only the machine knows have no constant number of lanes.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/lane_recurrent.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using lanes::backward_layout;
using lanes::forward_layout;
using lanes::kLanes;
using lanes::load;
using lanes::set;
using lanes::sigmoid;
using lanes::store;

/// The numbers of one step, lane matrices: what its gates get from the input and from the state
/// before, and their gradients; the gates behind their functions; states and, of LSTM, cells.
struct RecurrentStep {
  const float *from_input, *from_state;
  float* gates;
  const float *state_before, *cell_before;
  float *state, *cell;
};

/// What a forward pass computes, as lane matrices, step by step. The first state is 0.
struct RecurrentNumbers {
  RecurrentNumbers(const LaneRecurrent& r, lanes::Memory& m)
      : H(r.H),
        G(r.gates() * r.H),
        x(m.take(r.T * r.I)),
        states(m.take((r.T + 1) * H)),
        cells(m.take((r.T + 1) * H)),
        from_input(m.take(r.T * G)),
        from_state(m.take(r.T * G)),
        gates(m.take(r.T * G)) {}

  RecurrentStep at(int64_t t) const {
    const auto g = t * G * kLanes, before = t * H * kLanes, after = before + H * kLanes;
    return {from_input + g, from_state + g, gates + g,    states + before,
            cells + before, states + after, cells + after};
  }

  const int64_t H, G;
  float *x, *states, *cells;
  float *from_input, *from_state, *gates;  // (T, G)
};

struct RecurrentGradients {
  RecurrentGradients(const LaneRecurrent& r, lanes::Memory& m)
      : from_input(m.take(r.T * r.gates() * r.H)),
        from_state(m.take(r.T * r.gates() * r.H)),
        state(m.take(r.H)),
        past_gates(m.take(r.H)),
        cell(m.take(r.H)),
        x(m.take(r.T * r.I)) {}

  float *from_input, *from_state;    // (T, G)
  float *state, *past_gates, *cell;  // of one step: (H); `past_gates` reaches the state directly
  float* x;
};

HWY_INLINE lanes::Vector tanh_slope(lanes::Vector v) { return hn::NegMulAdd(v, v, set(1)); }
HWY_INLINE lanes::Vector sigmoid_slope(lanes::Vector v) { return hn::Mul(v, hn::Sub(set(1), v)); }
/// What gate number j gets in all.
HWY_INLINE lanes::Vector gate_input(const RecurrentStep& s, int64_t j) {
  return hn::Add(load(s.from_input, j), load(s.from_state, j));
}

// Number i of H of a step of each kind, forward and backward. `put(gate, from_input, from_state)`
// takes the gradients of what a gate gets.

/// h = tanh(a + b).
struct RnnCell {
  static HWY_INLINE void forward(int64_t, int64_t i, const RecurrentStep& s) {
    const auto v = hn::Tanh(lanes::Tag(), gate_input(s, i));
    store(v, s.gates, i);
    store(v, s.state, i);
  }
  template <typename Put>
  static HWY_INLINE void backward(int64_t, int64_t i, const RecurrentStep& s,
                                  const RecurrentGradients& d, const Put& put) {
    const auto dv = hn::Mul(load(d.state, i), tanh_slope(load(s.gates, i)));
    put(0, dv, dv);
    store(hn::Zero(lanes::Tag()), d.past_gates, i);
  }
};

/// Gates i, f, g, o: c = f c + i g, h = o tanh(c).
struct LstmCell {
  static HWY_INLINE void forward(int64_t H, int64_t i, const RecurrentStep& s) {
    const auto in = sigmoid(gate_input(s, i)), forget = sigmoid(gate_input(s, H + i)),
               fresh = hn::Tanh(lanes::Tag(), gate_input(s, 2 * H + i)),
               out = sigmoid(gate_input(s, 3 * H + i));
    const auto cell = hn::MulAdd(forget, load(s.cell_before, i), hn::Mul(in, fresh));
    store(in, s.gates, i);
    store(forget, s.gates, H + i);
    store(fresh, s.gates, 2 * H + i);
    store(out, s.gates, 3 * H + i);
    store(cell, s.cell, i);
    store(hn::Mul(out, hn::Tanh(lanes::Tag(), cell)), s.state, i);
  }
  template <typename Put>
  static HWY_INLINE void backward(int64_t H, int64_t i, const RecurrentStep& s,
                                  const RecurrentGradients& d, const Put& put) {
    const auto in = load(s.gates, i), forget = load(s.gates, H + i),
               fresh = load(s.gates, 2 * H + i), out = load(s.gates, 3 * H + i);
    const auto through = hn::Tanh(lanes::Tag(), load(s.cell, i)), dh = load(d.state, i);
    const auto dc = hn::MulAdd(hn::Mul(dh, out), tanh_slope(through), load(d.cell, i));
    const auto both = [&](int64_t gate, lanes::Vector v) { put(gate, v, v); };
    both(0, hn::Mul(hn::Mul(dc, fresh), sigmoid_slope(in)));
    both(1, hn::Mul(hn::Mul(dc, load(s.cell_before, i)), sigmoid_slope(forget)));
    both(2, hn::Mul(hn::Mul(dc, in), tanh_slope(fresh)));
    both(3, hn::Mul(hn::Mul(dh, through), sigmoid_slope(out)));
    store(hn::Mul(dc, forget), d.cell, i);
    store(hn::Zero(lanes::Tag()), d.past_gates, i);
  }
};

/// Gates r, z, n: n = tanh(a + r b), h = (1 - z) n + z h.
struct GruCell {
  static HWY_INLINE void forward(int64_t H, int64_t i, const RecurrentStep& s) {
    const auto reset = sigmoid(gate_input(s, i)), update = sigmoid(gate_input(s, H + i));
    const auto fresh = hn::Tanh(lanes::Tag(), hn::MulAdd(reset, load(s.from_state, 2 * H + i),
                                                         load(s.from_input, 2 * H + i)));
    store(reset, s.gates, i);
    store(update, s.gates, H + i);
    store(fresh, s.gates, 2 * H + i);
    store(hn::MulAdd(update, hn::Sub(load(s.state_before, i), fresh), fresh), s.state, i);
  }
  template <typename Put>
  static HWY_INLINE void backward(int64_t H, int64_t i, const RecurrentStep& s,
                                  const RecurrentGradients& d, const Put& put) {
    const auto reset = load(s.gates, i), update = load(s.gates, H + i),
               fresh = load(s.gates, 2 * H + i), dh = load(d.state, i);
    const auto d_fresh = hn::Mul(hn::Mul(dh, hn::Sub(set(1), update)), tanh_slope(fresh));
    const auto d_update =
        hn::Mul(hn::Mul(dh, hn::Sub(load(s.state_before, i), fresh)), sigmoid_slope(update));
    const auto d_reset =
        hn::Mul(hn::Mul(d_fresh, load(s.from_state, 2 * H + i)), sigmoid_slope(reset));
    put(0, d_reset, d_reset);
    put(1, d_update, d_update);
    put(2, d_fresh, hn::Mul(d_fresh, reset));
    store(hn::Mul(dh, update), d.past_gates, i);
  }
};

template <typename Work>
HWY_INLINE void with_cell(Cell cell, const Work& work) {
  switch (cell) {
    case Cell::Rnn:
      return work(RnnCell());
    case Cell::Lstm:
      return work(LstmCell());
    case Cell::Gru:
      return work(GruCell());
  }
}

template <typename CellKind>
void compute_states(const LaneRecurrent& r, const RecurrentNumbers& n) {
  for (int64_t i = 0; i < r.H; ++i) {
    store(hn::Zero(lanes::Tag()), n.states, i);
    store(hn::Zero(lanes::Tag()), n.cells, i);
  }
  lanes::multiply(n.x, r.T, r.I, r.input_weight, forward_layout(r.I), n.G, r.input_bias,
                  n.from_input);
  for (int64_t t = 0; t < r.T; ++t) {
    const auto step = n.at(t);
    lanes::multiply(step.state_before, 1, r.H, r.state_weight, forward_layout(r.H), n.G,
                    r.state_bias, n.from_state + t * n.G * kLanes);
    for (int64_t i = 0; i < r.H; ++i) CellKind::forward(r.H, i, step);
  }
}

template <typename CellKind>
void compute_gradients(const LaneRecurrent& r, const RecurrentNumbers& n,
                       const RecurrentGradients& d) {
  for (int64_t i = 0; i < r.H; ++i) store(hn::Zero(lanes::Tag()), d.cell, i);
  for (int64_t t = r.T - 1; t >= 0; --t) {
    const auto step = n.at(t);
    auto *from_input = d.from_input + t * n.G * kLanes,
         *from_state = d.from_state + t * n.G * kLanes;
    for (int64_t i = 0; i < r.H; ++i)
      CellKind::backward(r.H, i, step, d, [&](int64_t gate, lanes::Vector a, lanes::Vector b) {
        store(a, from_input, gate * r.H + i);
        store(b, from_state, gate * r.H + i);
      });
    lanes::multiply(from_state, 1, n.G, r.state_weight, backward_layout(r.H), r.H, nullptr,
                    d.state);
    lanes::add(d.state, d.past_gates, r.H, d.state);
  }
}

LaneMemory recurrent_memory(const LaneRecurrent& r) {
  lanes::Memory forward(nullptr), backward(nullptr);
  const RecurrentNumbers numbers(r, forward);
  const RecurrentGradients gradients(r, backward);
  return {forward.floats(), backward.floats()};
}

void recurrent_forward(const LaneRecurrent& r, const float* x, int64_t sequences, float* state,
                       float* numbers) {
  lanes::Memory m(numbers);
  const RecurrentNumbers n(r, m);
  lanes::to_lanes(x, sequences, r.T * r.I, n.x);
  with_cell(r.cell, [&](auto cell) { compute_states<decltype(cell)>(r, n); });
  lanes::from_lanes(n.states + r.T * r.H * kLanes, sequences, r.H, state);
}

void recurrent_backward(const LaneRecurrent& r, const float* numbers, const float* d_state,
                        int64_t sequences, float* dx, float* sums, float* scratch) {
  lanes::Memory kept(const_cast<float*>(numbers)), own(scratch), s(sums);
  const RecurrentNumbers n(r, kept);  // read only
  const RecurrentGradients d(r, own);
  std::vector<float*> totals;  // of the parameters
  for (const auto size : r.sizes()) totals.push_back(s.take(size));
  lanes::to_lanes(d_state, sequences, r.H, d.state);
  with_cell(r.cell, [&](auto cell) { compute_gradients<decltype(cell)>(r, n, d); });
  lanes::add_outer(d.from_input, n.x, r.T, n.G, r.I, totals[0]);
  lanes::add_outer(d.from_state, n.states, r.T, n.G, r.H, totals[1]);
  lanes::add_rows(d.from_input, r.T, n.G, totals[2]);
  lanes::add_rows(d.from_state, r.T, n.G, totals[3]);
  if (dx == nullptr) return;
  lanes::multiply(d.from_input, r.T, n.G, r.input_weight, backward_layout(r.I), r.I, nullptr, d.x);
  lanes::from_lanes(d.x, sequences, r.T * r.I, dx);
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(recurrent_memory);
HWY_EXPORT(recurrent_forward);
HWY_EXPORT(recurrent_backward);

LaneMemory lane_recurrent_memory(const LaneRecurrent& r) {
  return HWY_DYNAMIC_DISPATCH(recurrent_memory)(r);
}

void lane_recurrent_forward(const LaneRecurrent& r, const float* x, int64_t sequences, float* state,
                            float* numbers) {
  HWY_DYNAMIC_DISPATCH(recurrent_forward)(r, x, sequences, state, numbers);
}

void lane_recurrent_backward(const LaneRecurrent& r, const float* numbers, const float* d_state,
                             int64_t sequences, float* dx, float* sums, float* scratch) {
  HWY_DYNAMIC_DISPATCH(recurrent_backward)(r, numbers, d_state, sequences, dx, sums, scratch);
}

}  // namespace vitrine::kernels
#endif
