#include "vitrine/kernels/masked_softmax.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/masked_softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
T largest(const T* x, int64_t n, T start) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto top = hn::Set(d, start);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) top = hn::Max(top, hn::LoadU(d, x + i));
  T result = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < n; ++i) result = std::max(result, x[i]);
  return result;
}

/// x = exp(x - shift); returns the sum.
template <typename T>
T exponentials_of(T* x, int64_t n, T shift) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto s = hn::Set(d, shift);
  auto total = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto e = exp(d, hn::Sub(hn::LoadU(d, x + i), s));
    total = hn::Add(total, e);
    hn::StoreU(e, d, x + i);
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, total));
  for (; i < n; ++i) sum += x[i] = std::exp(x[i] - shift);
  return sum;
}

template <typename T>
void clear_outside(T* row, int64_t n, int64_t low, int64_t high) {
  std::fill(row, row + low, T(0));
  std::fill(row + std::max(low, high), row + n, T(0));
}

template <typename T>
T step(T* row, int64_t n, int64_t low, int64_t high, T& running_max, T& running_sum) {
  clear_outside(row, n, low, high);
  if (low >= high) return 1;
  const T raised = largest(row + low, high - low, running_max);
  const T factor = std::exp(running_max - raised);
  running_sum = running_sum * factor + exponentials_of(row + low, high - low, raised);
  running_max = raised;
  return factor;
}

template <typename T>
void again(T* row, int64_t n, int64_t low, int64_t high, T log_sum) {
  clear_outside(row, n, low, high);
  if (low < high) exponentials_of(row + low, high - low, log_sum);
}

template <typename T>
void gradient(const T* p, T* g, int64_t n, T dot) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mean = hn::Set(d, dot);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, p + i), hn::Sub(hn::LoadU(d, g + i), mean)), d, g + i);
  for (; i < n; ++i) g[i] = p[i] * (g[i] - dot);
}

float step_f(float* row, int64_t n, int64_t low, int64_t high, float& running_max,
             float& running_sum) {
  return step(row, n, low, high, running_max, running_sum);
}
double step_d(double* row, int64_t n, int64_t low, int64_t high, double& running_max,
              double& running_sum) {
  return step(row, n, low, high, running_max, running_sum);
}
void again_f(float* row, int64_t n, int64_t low, int64_t high, float log_sum) {
  again(row, n, low, high, log_sum);
}
void again_d(double* row, int64_t n, int64_t low, int64_t high, double log_sum) {
  again(row, n, low, high, log_sum);
}
void gradient_row_f(const float* p, float* g, int64_t n, float dot) { gradient(p, g, n, dot); }
void gradient_row_d(const double* p, double* g, int64_t n, double dot) { gradient(p, g, n, dot); }

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(step_f);
HWY_EXPORT(step_d);
HWY_EXPORT(again_f);
HWY_EXPORT(again_d);
HWY_EXPORT(gradient_row_f);
HWY_EXPORT(gradient_row_d);

float online_softmax_update(float* row, int64_t n, int64_t low, int64_t high, float& running_max,
                            float& running_sum) {
  return HWY_DYNAMIC_DISPATCH(step_f)(row, n, low, high, running_max, running_sum);
}
double online_softmax_update(double* row, int64_t n, int64_t low, int64_t high, double& running_max,
                             double& running_sum) {
  return HWY_DYNAMIC_DISPATCH(step_d)(row, n, low, high, running_max, running_sum);
}
void masked_softmax_from_logsumexp(float* row, int64_t n, int64_t low, int64_t high,
                                   float log_sum) {
  HWY_DYNAMIC_DISPATCH(again_f)(row, n, low, high, log_sum);
}
void masked_softmax_from_logsumexp(double* row, int64_t n, int64_t low, int64_t high,
                                   double log_sum) {
  HWY_DYNAMIC_DISPATCH(again_d)(row, n, low, high, log_sum);
}
void masked_softmax_gradient_row(const float* p, float* d, int64_t n, float dot) {
  HWY_DYNAMIC_DISPATCH(gradient_row_f)(p, d, n, dot);
}
void masked_softmax_gradient_row(const double* p, double* d, int64_t n, double dot) {
  HWY_DYNAMIC_DISPATCH(gradient_row_d)(p, d, n, dot);
}

}  // namespace vitrine::kernels
#endif
