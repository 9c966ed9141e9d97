#include "vitrine/kernels/bf16_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/bf16_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/bf16-inl.h"
#include "vitrine/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL
// Used only where `has_bf16_products`.
#pragma GCC push_options
#pragma GCC target("avx512bf16")
#endif
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, kRowStep>;  // so that rows hold whole vectors

int64_t lanes_of(FloatTag f) { return static_cast<int64_t>(hn::Lanes(f)); }

/// The part of a row that its query sees, in whole vectors.
struct Seen {
  int64_t n, low, high;
  int64_t begin, end;

  Seen(int64_t row, int64_t first, int64_t last)
      : n(row),
        low(first),
        high(std::max(first, last)),
        begin(low / kRowStep * kRowStep),
        end((high + kRowStep - 1) / kRowStep * kRowStep) {
    if (low == high) begin = end = low / kRowStep * kRowStep;
  }

  /// Calls `work(i, mask)` for every vector; the mask has what the query sees.
  template <typename Work>
  HWY_INLINE void for_vectors(const Work& work) const {
    const FloatTag f;
    const hn::RebindToSigned<FloatTag> d;
    const auto from = hn::Set(d, static_cast<int32_t>(low));
    const auto to = hn::Set(d, static_cast<int32_t>(high));
    for (int64_t i = begin; i < end; i += lanes_of(f)) {
      const auto index = hn::Iota(d, static_cast<int32_t>(i));
      const auto outside = hn::Or(hn::VecFromMask(d, hn::Lt(index, from)),
                                  hn::Not(hn::VecFromMask(d, hn::Lt(index, to))));
      work(i, hn::RebindMask(f, hn::MaskFromVec(hn::Not(outside))));
    }
  }

  void clear_rest(float* row) const {
    std::fill(row, row + begin, 0.0f);
    std::fill(row + end, row + n, 0.0f);
  }
  void clear_rest(int32_t* words) const {
    std::fill(words, words + begin / 2, 0);
    std::fill(words + end / 2, words + n / 2, 0);
  }
};

/// row = exp(row - shift), and rounded in `words`; returns the sum.
template <typename Rounding>
float exponentials(float* HWY_RESTRICT row, const Seen& seen, float shift,
                   int32_t* HWY_RESTRICT words) {
  const FloatTag f;
  auto* halves = reinterpret_cast<uint16_t*>(words);
  const auto s = hn::Set(f, shift);
  auto total = hn::Zero(f);
  seen.for_vectors([&](int64_t i, auto inside) {
    const auto e = hn::IfThenElseZero(inside, exp(f, hn::Sub(hn::LoadU(f, row + i), s)));
    total = hn::Add(total, e);
    hn::StoreU(e, f, row + i);
    Rounding::store(f, e, halves + i);
  });
  seen.clear_rest(row);
  seen.clear_rest(words);
  return hn::GetLane(hn::SumOfLanes(f, total));
}

template <typename Rounding>
float update(float* row, const Seen& seen, float& running_max, float& running_sum, int32_t* words) {
  const FloatTag f;
  auto top = hn::Set(f, running_max);
  seen.for_vectors([&](int64_t i, auto inside) {
    top = hn::IfThenElse(inside, hn::Max(top, hn::LoadU(f, row + i)), top);
  });
  const bool any = seen.low < seen.high;
  const float raised = any ? hn::GetLane(hn::MaxOfLanes(f, top)) : running_max;
  const float sum = exponentials<Rounding>(row, seen, raised, words);
  if (!any) return 1;
  // Nothing was summed before the first step, so nothing has to be scaled.
  const bool keeps = running_sum == 0 || running_max == raised;
  const float factor = keeps ? 1.0f : std::exp(running_max - raised);
  running_sum = running_sum * factor + sum;
  running_max = raised;
  return factor;
}

template <typename Rounding>
void gradient(const float* HWY_RESTRICT p, const float* HWY_RESTRICT g, const Seen& seen, float dot,
              int32_t* HWY_RESTRICT words) {
  const FloatTag f;
  auto* halves = reinterpret_cast<uint16_t*>(words);
  const auto mean = hn::Set(f, dot);
  seen.for_vectors([&](int64_t i, auto inside) {
    const auto d = hn::Mul(hn::LoadU(f, p + i), hn::Sub(hn::LoadU(f, g + i), mean));
    Rounding::store(f, hn::IfThenElseZero(inside, d), halves + i);
  });
  seen.clear_rest(words);
}

float update_row(float* row, int64_t n, int64_t low, int64_t high, float& running_max,
                 float& running_sum, int32_t* words) {
  return with_bf16([&](auto rounding) {
    return update<decltype(rounding)>(row, {n, low, high}, running_max, running_sum, words);
  });
}
void again_row(float* row, int64_t n, int64_t low, int64_t high, float log_sum, int32_t* words) {
  with_bf16([&](auto rounding) {
    return exponentials<decltype(rounding)>(row, {n, low, high}, log_sum, words);
  });
}
void gradient_row(const float* p, const float* d, int64_t n, int64_t low, int64_t high, float dot,
                  int32_t* words) {
  with_bf16([&](auto rounding) { gradient<decltype(rounding)>(p, d, {n, low, high}, dot, words); });
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
#pragma GCC pop_options
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(update_row);
HWY_EXPORT(again_row);
HWY_EXPORT(gradient_row);

float bf16_softmax_update(float* row, int64_t n, int64_t low, int64_t high, float& running_max,
                          float& running_sum, int32_t* words) {
  return HWY_DYNAMIC_DISPATCH(update_row)(row, n, low, high, running_max, running_sum, words);
}
void bf16_softmax_from_logsumexp(float* row, int64_t n, int64_t low, int64_t high, float log_sum,
                                 int32_t* words) {
  HWY_DYNAMIC_DISPATCH(again_row)(row, n, low, high, log_sum, words);
}
void bf16_softmax_gradient_row(const float* p, const float* d, int64_t n, int64_t low, int64_t high,
                               float dot, int32_t* words) {
  HWY_DYNAMIC_DISPATCH(gradient_row)(p, d, n, low, high, dot, words);
}

}  // namespace vitrine::kernels
#endif
