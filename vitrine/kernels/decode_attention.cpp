#include "vitrine/kernels/decode_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Vectors of a size that only the machine knows cannot stand in arrays.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/decode_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
constexpr int64_t kLanes = hn::MaxLanes(FloatTag());

float key_dot(const float* HWY_RESTRICT x, const float* HWY_RESTRICT y, int64_t n) {
  const FloatTag f;
  auto even = hn::Zero(f), odd = hn::Zero(f);
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    even = hn::MulAdd(hn::LoadU(f, x + i), hn::LoadU(f, y + i), even);
    odd = hn::MulAdd(hn::LoadU(f, x + i + kLanes), hn::LoadU(f, y + i + kLanes), odd);
  }
  for (; i + kLanes <= n; i += kLanes)
    even = hn::MulAdd(hn::LoadU(f, x + i), hn::LoadU(f, y + i), even);
  float sum = hn::GetLane(hn::SumOfLanes(f, hn::Add(even, odd)));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

/// x = exp(x - shift); returns the sum.
float score_exponentials(float* x, int64_t n, float shift) {
  const FloatTag f;
  const auto s = hn::Set(f, shift);
  auto total = hn::Zero(f);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto e = exp(f, hn::Sub(hn::LoadU(f, x + i), s));
    total = hn::Add(total, e);
    hn::StoreU(e, f, x + i);
  }
  float sum = hn::GetLane(hn::SumOfLanes(f, total));
  for (; i < n; ++i) sum += x[i] = std::exp(x[i] - shift);
  return sum;
}

/// kVectors vectors of the weighted values, from `column` on: their sums stay in registers.
template <int kVectors, typename D>
HWY_INLINE void mix(D f, const DecodeHead& h, const int64_t* slots, int64_t visible,
                    const float* weights, float factor, int64_t column, float* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(f));
  hn::Vec<D> sum[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(f);
  for (int64_t i = 0; i < visible; ++i) {
    const auto weight = hn::Set(f, weights[i]);
    const float* value = h.values + slots[i] * h.value_width + column;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      sum[v] = hn::MulAdd(weight, hn::LoadU(f, value + v * lanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v)
    hn::StoreU(hn::Mul(sum[v], hn::Set(f, factor)), f, out + column + v * lanes);
}

void attend(const DecodeHead& h, const int64_t* slots, int64_t visible, float* scores, float* out) {
  float top = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < visible; ++i) {
    scores[i] = h.scale * key_dot(h.q, h.keys + slots[i] * h.key_width, h.key_width);
    top = std::max(top, scores[i]);
  }
  const float factor = visible > 0 ? 1 / score_exponentials(scores, visible, top) : 0;
  const FloatTag f;
  constexpr int64_t kMost = 8;
  int64_t c = 0;
  for (; c + kMost * kLanes <= h.value_width; c += kMost * kLanes)
    mix<kMost>(f, h, slots, visible, scores, factor, c, out);
  for (; c + kLanes <= h.value_width; c += kLanes)
    mix<1>(f, h, slots, visible, scores, factor, c, out);
  for (; c < h.value_width; ++c)
    mix<1>(hn::CappedTag<float, 1>(), h, slots, visible, scores, factor, c, out);
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(attend);

void decode_attention(const DecodeHead& head, const int64_t* slots, int64_t visible, float* scores,
                      float* out) {
  HWY_DYNAMIC_DISPATCH(attend)(head, slots, visible, scores, out);
}

}  // namespace vitrine::kernels
#endif
