#include "vitrine/kernels/gelu.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/gelu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kMostLanes = hn::MaxLanes(hn::ScalableTag<float>());

/// Calls `compute(first)` for every vector of n numbers; the last one is of `rest` numbers.
template <typename Compute, typename Last>
HWY_INLINE void each_vector(int64_t n, const Compute& compute, const Last& last) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) compute(i);
  if (i < n) last(i, n - i);
}

void forward(const float* x, int64_t n, float* y) {
  const hn::ScalableTag<float> f;
  each_vector(
      n, [&](int64_t i) { hn::StoreU(gelu(hn::LoadU(f, x + i)), f, y + i); },
      [&](int64_t i, int64_t rest) {
        float some[kMostLanes] = {};
        std::copy_n(x + i, rest, some);
        hn::StoreU(gelu(hn::LoadU(f, some)), f, some);
        std::copy_n(some, rest, y + i);
      });
}

void backward(const float* HWY_RESTRICT x, const float* dy, int64_t n, float* dx) {
  const hn::ScalableTag<float> f;
  each_vector(
      n,
      [&](int64_t i) {
        hn::StoreU(hn::Mul(hn::LoadU(f, dy + i), gelu_slope(hn::LoadU(f, x + i))), f, dx + i);
      },
      [&](int64_t i, int64_t rest) {
        float some[kMostLanes] = {};
        std::copy_n(x + i, rest, some);
        hn::StoreU(gelu_slope(hn::LoadU(f, some)), f, some);
        for (int64_t j = 0; j < rest; ++j) dx[i + j] = dy[i + j] * some[j];
      });
}

void bf16_backward(const uint16_t* HWY_RESTRICT x, int64_t n, float* HWY_RESTRICT dx) {
  const hn::ScalableTag<float> f;
  const hn::ScalableTag<uint32_t> u;
  const hn::Rebind<uint16_t, hn::ScalableTag<float>> h;
  const auto slope = [&](const uint16_t* halves) {
    return gelu_slope(hn::BitCast(f, hn::ShiftLeft<16>(hn::PromoteTo(u, hn::LoadU(h, halves)))));
  };
  each_vector(
      n, [&](int64_t i) { hn::StoreU(hn::Mul(hn::LoadU(f, dx + i), slope(x + i)), f, dx + i); },
      [&](int64_t i, int64_t rest) {
        uint16_t some[kMostLanes] = {};
        float slopes[kMostLanes];
        std::copy_n(x + i, rest, some);
        hn::StoreU(slope(some), f, slopes);
        for (int64_t j = 0; j < rest; ++j) dx[i + j] *= slopes[j];
      });
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(forward);
HWY_EXPORT(backward);
HWY_EXPORT(bf16_backward);

void gelu(const float* x, int64_t n, float* y) { HWY_DYNAMIC_DISPATCH(forward)(x, n, y); }

void gelu_backward(const float* x, const float* dy, int64_t n, float* dx) {
  HWY_DYNAMIC_DISPATCH(backward)(x, dy, n, dx);
}

void bf16_gelu_backward(const int32_t* x, int64_t n, float* dx) {
  HWY_DYNAMIC_DISPATCH(bf16_backward)(reinterpret_cast<const uint16_t*>(x), n, dx);
}

}  // namespace vitrine::kernels
#endif
