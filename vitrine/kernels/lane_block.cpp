#include "vitrine/kernels/lane_block.h"

#include <cmath>
#include <numeric>

// Vectors of a size that only the machine knows have no constant number of lanes.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/lane_block.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/activation-inl.h"
#include "vitrine/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {

using lanes::backward_layout;
using lanes::forward_layout;
using lanes::kLanes;
using lanes::Part;

/// What a forward pass computes, as lane matrices.
struct BlockNumbers {
  BlockNumbers(const LaneBlock& b, lanes::Memory& m)
      : x(m.take(b.T * b.C)),
        unit1(m.take(b.T * b.C)),
        inv_std1(m.take(b.T)),
        normed1(m.take(b.T * b.C)),
        qkv(m.take(b.T * 3 * b.C)),
        weights(m.take(b.H * b.T * b.T)),
        mixed(m.take(b.T * b.C)),
        h(m.take(b.T * b.C)),
        unit2(m.take(b.T * b.C)),
        inv_std2(m.take(b.T)),
        normed2(m.take(b.T * b.C)),
        before(m.take(b.T * b.F)),
        hidden(m.take(b.T * b.F)),
        y(m.take(b.T * b.C)) {}

  float *x, *unit1, *inv_std1, *normed1, *qkv, *weights, *mixed, *h;
  float *unit2, *inv_std2, *normed2, *before, *hidden, *y;
};

/// Their gradients, where they differ from those of another.
struct BlockNumberGradients {
  BlockNumberGradients(const LaneBlock& b, lanes::Memory& m)
      : y(m.take(b.T * b.C)),
        hidden(m.take(b.T * b.F)),
        tokens(m.take(b.T * b.C)),
        h(m.take(b.T * b.C)),
        qkv(m.take(b.T * 3 * b.C)),
        weights(m.take(b.T * b.T)) {}

  float *y, *hidden, *tokens, *h, *qkv, *weights;
};

/// Queries (0), keys (1) or values (2) of a head.
template <typename T>
Part<T> head_part(const LaneBlock& b, T* qkv, int64_t which, int64_t head) {
  return {qkv + (which * b.C + head * (b.C / b.H)) * kLanes, {3 * b.C, 1}};
}
template <typename T>
Part<T> head_tokens(const LaneBlock& b, T* tokens, int64_t head) {
  return {tokens + head * (b.C / b.H) * kLanes, {b.C, 1}};
}
template <typename T>
Part<T> head_weights(const LaneBlock& b, T* weights) {
  return {weights, {b.T, 1}};
}

void attend(const LaneBlock& b, const BlockNumbers& n) {
  const auto D = b.C / b.H;
  const float scale = 1 / std::sqrt(static_cast<float>(D));
  for (int64_t head = 0; head < b.H; ++head) {
    float* weights = n.weights + head * b.T * b.T * kLanes;
    const float* qkv = n.qkv;
    const auto q = head_part(b, qkv, 0, head), k = head_part(b, qkv, 1, head),
               v = head_part(b, qkv, 2, head);
    lanes::multiply_lanes(q, k.transposed(), b.T, D, b.T, scale, head_weights(b, weights));
    lanes::softmax(weights, b.T, b.T);
    lanes::multiply_lanes(head_weights<const float>(b, weights), v, b.T, b.T, D, 1,
                          head_tokens(b, n.mixed, head));
  }
}

void attend_backward(const LaneBlock& b, const BlockNumbers& n, const float* d_mixed,
                     const BlockNumberGradients& g) {
  const auto D = b.C / b.H;
  const float scale = 1 / std::sqrt(static_cast<float>(D));
  for (int64_t head = 0; head < b.H; ++head) {
    const float *weights = n.weights + head * b.T * b.T * kLanes, *qkv = n.qkv;
    const auto d_out = head_tokens(b, d_mixed, head);
    const auto part = [&](int64_t which) { return head_part(b, qkv, which, head); };
    const auto gradient = [&](int64_t which) { return head_part(b, g.qkv, which, head); };
    const auto w = head_weights(b, weights);
    lanes::multiply_lanes(w.transposed(), d_out, b.T, b.T, D, 1, gradient(2));
    lanes::multiply_lanes(d_out, part(2).transposed(), b.T, D, b.T, 1, head_weights(b, g.weights));
    lanes::softmax_backward(weights, g.weights, b.T, b.T);
    const auto d_scores = head_weights<const float>(b, g.weights);
    lanes::multiply_lanes(d_scores, part(1), b.T, b.T, D, scale, gradient(0));
    lanes::multiply_lanes(d_scores.transposed(), part(0), b.T, b.T, D, scale, gradient(1));
  }
}

void compute(const LaneBlock& b, const float* x, int64_t sequences, const BlockNumbers& n) {
  const auto T = b.T, C = b.C, F = b.F;
  lanes::to_lanes(x, sequences, T * C, n.x);
  lanes::norm(n.x, T, C, b.gamma1, b.beta1, b.eps, n.unit1, n.inv_std1, n.normed1);
  lanes::multiply(n.normed1, T, C, b.qkv_weight, forward_layout(C), 3 * C, b.qkv_bias, n.qkv);
  attend(b, n);
  lanes::multiply(n.mixed, T, C, b.proj_weight, forward_layout(C), C, b.proj_bias, n.h);
  lanes::add(n.x, n.h, T * C, n.h);
  lanes::norm(n.h, T, C, b.gamma2, b.beta2, b.eps, n.unit2, n.inv_std2, n.normed2);
  lanes::multiply(n.normed2, T, C, b.weight1, forward_layout(C), F, b.bias1, n.before);
  with_function(b.activation, [&](auto f) {
    for (int64_t i = 0; i < T * F; ++i)
      lanes::store(decltype(f)::value(lanes::load(n.before, i)), n.hidden, i);
  });
  lanes::multiply(n.hidden, T, F, b.weight2, forward_layout(F), C, b.bias2, n.y);
  lanes::add(b.norm_stream ? n.normed2 : n.h, n.y, T * C, n.y);
}

LaneMemory block_memory(const LaneBlock& b) {
  lanes::Memory forward(nullptr), backward(nullptr);
  const BlockNumbers numbers(b, forward);
  const BlockNumberGradients gradients(b, backward);
  return {forward.floats(), backward.floats()};
}

void block_forward(const LaneBlock& b, const float* x, int64_t sequences, float* y,
                   float* numbers) {
  lanes::Memory m(numbers);
  const BlockNumbers n(b, m);
  compute(b, x, sequences, n);
  lanes::from_lanes(n.y, sequences, b.T * b.C, y);
}

void block_backward(const LaneBlock& b, const float* numbers, const float* dy, int64_t sequences,
                    float* dx, float* sums, float* scratch) {
  lanes::Memory kept(const_cast<float*>(numbers)), own(scratch), s(sums);
  const BlockNumbers n(b, kept);  // read only
  const BlockNumberGradients g(b, own);
  const auto T = b.T, C = b.C, F = b.F;
  std::vector<float*> d;  // of the parameters
  for (const auto size : b.sizes()) d.push_back(s.take(size));
  lanes::to_lanes(dy, sequences, T * C, g.y);

  lanes::add_outer(g.y, n.hidden, T, C, F, d[10]);
  lanes::add_rows(g.y, T, C, d[11]);
  lanes::multiply(g.y, T, C, b.weight2, backward_layout(F), F, nullptr, g.hidden);
  with_function(b.activation, [&](auto f) {
    for (int64_t i = 0; i < T * F; ++i) {
      const auto slope = decltype(f)::both(lanes::load(n.before, i)).slope;
      lanes::store(hwy::HWY_NAMESPACE::Mul(lanes::load(g.hidden, i), slope), g.hidden, i);
    }
  });
  lanes::add_outer(g.hidden, n.normed2, T, F, C, d[8]);
  lanes::add_rows(g.hidden, T, F, d[9]);
  lanes::multiply(g.hidden, T, F, b.weight1, backward_layout(C), C, nullptr, g.tokens);
  if (b.norm_stream) lanes::add(g.tokens, g.y, T * C, g.tokens);
  lanes::norm_backward(g.tokens, T, C, b.gamma2, n.unit2, n.inv_std2, g.h, d[6], d[7]);
  if (!b.norm_stream) lanes::add(g.h, g.y, T * C, g.h);

  lanes::add_outer(g.h, n.mixed, T, C, C, d[4]);
  lanes::add_rows(g.h, T, C, d[5]);
  lanes::multiply(g.h, T, C, b.proj_weight, backward_layout(C), C, nullptr, g.tokens);
  attend_backward(b, n, g.tokens, g);
  lanes::add_outer(g.qkv, n.normed1, T, 3 * C, C, d[2]);
  lanes::add_rows(g.qkv, T, 3 * C, d[3]);
  lanes::multiply(g.qkv, T, 3 * C, b.qkv_weight, backward_layout(C), C, nullptr, g.tokens);
  lanes::norm_backward(g.tokens, T, C, b.gamma1, n.unit1, n.inv_std1, g.y, d[0], d[1]);
  lanes::add(g.y, g.h, T * C, g.y);
  lanes::from_lanes(g.y, sequences, T * C, dx);
}

void lane_sums(const float* sums, int64_t n, float* totals) { lanes::sum_lanes(sums, n, totals); }

int64_t lane_count() { return kLanes; }

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(lane_count);
HWY_EXPORT(block_memory);
HWY_EXPORT(block_forward);
HWY_EXPORT(block_backward);
HWY_EXPORT(lane_sums);

int64_t sequences_per_call() { return HWY_DYNAMIC_DISPATCH(lane_count)(); }

LaneMemory lane_block_memory(const LaneBlock& b) { return HWY_DYNAMIC_DISPATCH(block_memory)(b); }

void lane_block_forward(const LaneBlock& b, const float* x, int64_t sequences, float* y,
                        float* numbers) {
  HWY_DYNAMIC_DISPATCH(block_forward)(b, x, sequences, y, numbers);
}

void lane_block_backward(const LaneBlock& b, const float* numbers, const float* dy,
                         int64_t sequences, float* dx, float* sums, float* scratch) {
  HWY_DYNAMIC_DISPATCH(block_backward)(b, numbers, dy, sequences, dx, sums, scratch);
}

void add_lanes(const float* sums, int64_t n, float* totals) {
  HWY_DYNAMIC_DISPATCH(lane_sums)(sums, n, totals);
}

}  // namespace vitrine::kernels
#endif
