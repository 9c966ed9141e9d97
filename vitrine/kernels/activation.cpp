#include "vitrine/kernels/activation.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using HalfTag = hn::Rebind<uint16_t, FloatTag>;

constexpr int64_t kMostLanes = hn::MaxLanes(FloatTag());

HWY_INLINE hn::Vec<FloatTag> load(const float* x) { return hn::LoadU(FloatTag(), x); }
/// Numbers in bf16 are the upper halves of floats.
HWY_INLINE hn::Vec<FloatTag> load(const uint16_t* x) {
  const hn::ScalableTag<uint32_t> u;
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(u, hn::LoadU(HalfTag(), x))));
}

/// Rows of n numbers that a function reads and writes; null: not asked for.
template <typename X>
struct Numbers {
  const X* x;
  const float* dy;
  float* y;
  float* dx;
};

/// Calls `compute` for every vector of numbers. Those of the last one, which is not full, lie in
/// memory of its own.
template <typename X, typename Compute>
HWY_INLINE void each_vector(const Numbers<X>& all, int64_t n, const Compute& compute) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  const auto at = [](auto* values, int64_t i) { return values ? values + i : nullptr; };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    compute(Numbers<X>{all.x + i, at(all.dy, i), at(all.y, i), at(all.dx, i)});
  if (i == n) return;
  X x[kMostLanes] = {};
  float dy[kMostLanes] = {}, y[kMostLanes], dx[kMostLanes];
  std::copy(all.x + i, all.x + n, x);
  if (all.dy) std::copy(all.dy + i, all.dy + n, dy);
  compute(Numbers<X>{x, dy, y, dx});
  if (all.y) std::copy_n(y, n - i, all.y + i);
  if (all.dx) std::copy_n(dx, n - i, all.dx + i);
}

template <typename Function>
HWY_INLINE void values(const float* x, int64_t n, float* y) {
  each_vector(Numbers<float>{x, nullptr, y, nullptr}, n, [](const Numbers<float>& v) HWY_ATTR {
    hn::StoreU(Function::value(load(v.x)), FloatTag(), v.y);
  });
}

/// dx = dy f'(x).
template <typename Function>
HWY_INLINE void multiply_by_slope(const float* x, const float* dy, int64_t n, float* dx) {
  each_vector(Numbers<float>{x, dy, nullptr, dx}, n, [](const Numbers<float>& v) HWY_ATTR {
    const FloatTag f;
    hn::StoreU(hn::Mul(hn::LoadU(f, v.dy), Function::both(load(v.x)).slope), f, v.dx);
  });
}

/// The same in place, and y = f(x).
template <typename Function, typename X>
HWY_INLINE void values_and_slopes(const X* x, int64_t n, float* y, float* dx) {
  each_vector(Numbers<X>{x, dx, y, dx}, n, [](const Numbers<X>& v) HWY_ATTR {
    const FloatTag f;
    const auto [value, slope] = Function::both(load(v.x));
    hn::StoreU(value, f, v.y);
    hn::StoreU(hn::Mul(hn::LoadU(f, v.dy), slope), f, v.dx);
  });
}

void activate_all(Activation f, const float* x, int64_t n, float* y) {
  with_function(f, [&](auto g) { values<decltype(g)>(x, n, y); });
}
void backward(Activation f, const float* x, const float* dy, int64_t n, float* dx) {
  with_function(f, [&](auto g) { multiply_by_slope<decltype(g)>(x, dy, n, dx); });
}
void with_backward(Activation f, const float* x, int64_t n, float* y, float* dx) {
  with_function(f, [&](auto g) { values_and_slopes<decltype(g)>(x, n, y, dx); });
}
void bf16_with_backward(Activation f, const uint16_t* x, int64_t n, float* y, float* dx) {
  with_function(f, [&](auto g) { values_and_slopes<decltype(g)>(x, n, y, dx); });
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(activate_all);
HWY_EXPORT(backward);
HWY_EXPORT(with_backward);
HWY_EXPORT(bf16_with_backward);

namespace {

const uint16_t* halves(const int32_t* words) { return reinterpret_cast<const uint16_t*>(words); }

}  // namespace

void activate(Activation f, const float* x, int64_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(activate_all)(f, x, n, y);
}

void activation_backward(Activation f, const float* x, const float* dy, int64_t n, float* dx) {
  HWY_DYNAMIC_DISPATCH(backward)(f, x, dy, n, dx);
}

void activate_with_backward(Activation f, const float* x, int64_t n, float* y, float* dx) {
  HWY_DYNAMIC_DISPATCH(with_backward)(f, x, n, y, dx);
}

void bf16_activate_with_backward(Activation f, const int32_t* x, int64_t n, float* y, float* dx) {
  HWY_DYNAMIC_DISPATCH(bf16_with_backward)(f, halves(x), n, y, dx);
}

}  // namespace vitrine::kernels
#endif
