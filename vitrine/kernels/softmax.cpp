#include "vitrine/kernels/softmax.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void softmax(T* HWY_RESTRICT x, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto top = hn::Set(d, -std::numeric_limits<T>::infinity());
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) top = hn::Max(top, hn::LoadU(d, x + i));
  T max = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < n; ++i) max = x[i] > max ? x[i] : max;

  const auto shift = hn::Set(d, max);
  auto total = hn::Zero(d);
  for (i = 0; i + lanes <= n; i += lanes) {
    const auto e = hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), shift));
    total = hn::Add(total, e);
    hn::StoreU(e, d, x + i);
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, total));
  for (; i < n; ++i) sum += x[i] = std::exp(x[i] - max);

  const T inverse = 1 / sum;
  const auto factor = hn::Set(d, inverse);
  for (i = 0; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factor), d, x + i);
  for (; i < n; ++i) x[i] *= inverse;
}

template <typename T>
void softmax_gradient(const T* y, const T* dy, T* dx, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto total = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    total = hn::MulAdd(hn::LoadU(d, y + i), hn::LoadU(d, dy + i), total);
  T dot = hn::GetLane(hn::SumOfLanes(d, total));
  for (; i < n; ++i) dot += y[i] * dy[i];

  const auto mean = hn::Set(d, dot);
  for (i = 0; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, y + i), hn::Sub(hn::LoadU(d, dy + i), mean)), d, dx + i);
  for (; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

void softmax_f(float* x, int64_t n) { softmax(x, n); }
void softmax_d(double* x, int64_t n) { softmax(x, n); }
void gradient_f(const float* y, const float* dy, float* dx, int64_t n) {
  softmax_gradient(y, dy, dx, n);
}
void gradient_d(const double* y, const double* dy, double* dx, int64_t n) {
  softmax_gradient(y, dy, dx, n);
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(softmax_f);
HWY_EXPORT(softmax_d);
HWY_EXPORT(gradient_f);
HWY_EXPORT(gradient_d);

void softmax_row(float* x, int64_t n) { HWY_DYNAMIC_DISPATCH(softmax_f)(x, n); }
void softmax_row(double* x, int64_t n) { HWY_DYNAMIC_DISPATCH(softmax_d)(x, n); }
void softmax_row_backward(const float* y, const float* dy, float* dx, int64_t n) {
  HWY_DYNAMIC_DISPATCH(gradient_f)(y, dy, dx, n);
}
void softmax_row_backward(const double* y, const double* dy, double* dx, int64_t n) {
  HWY_DYNAMIC_DISPATCH(gradient_d)(y, dy, dx, n);
}

}  // namespace vitrine::kernels
#endif
