#include "vitrine/kernels/softmax.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void softmax(T* HWY_RESTRICT x, int64_t n, T scale) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto top = hn::Set(d, -std::numeric_limits<T>::infinity());
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) top = hn::Max(top, hn::LoadU(d, x + i));
  T max = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < n; ++i) max = x[i] > max ? x[i] : max;

  const auto shift = hn::Set(d, max), times = hn::Set(d, scale);
  auto total = hn::Zero(d);
  for (i = 0; i + lanes <= n; i += lanes) {
    const auto e = exp(d, hn::Mul(hn::Sub(hn::LoadU(d, x + i), shift), times));
    total = hn::Add(total, e);
    hn::StoreU(e, d, x + i);
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, total));
  for (; i < n; ++i) sum += x[i] = std::exp((x[i] - max) * scale);

  const T inverse = 1 / sum;
  const auto factor = hn::Set(d, inverse);
  for (i = 0; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factor), d, x + i);
  for (; i < n; ++i) x[i] *= inverse;
}

template <typename T>
void softmax_gradient(const T* y, const T* dy, T* dx, int64_t n, T scale) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto total = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    total = hn::MulAdd(hn::LoadU(d, y + i), hn::LoadU(d, dy + i), total);
  T dot = hn::GetLane(hn::SumOfLanes(d, total));
  for (; i < n; ++i) dot += y[i] * dy[i];

  const auto mean = hn::Set(d, dot), times = hn::Set(d, scale);
  for (i = 0; i + lanes <= n; i += lanes) {
    const auto away = hn::Mul(hn::Sub(hn::LoadU(d, dy + i), mean), times);
    hn::StoreU(hn::Mul(hn::LoadU(d, y + i), away), d, dx + i);
  }
  for (; i < n; ++i) dx[i] = y[i] * ((dy[i] - dot) * scale);
}

/// For rows shorter than a vector: the exponentials of all rows together.
template <typename T>
void short_softmax_rows(T* HWY_RESTRICT x, int64_t rows, int64_t n, T scale) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r) {
    T* row = x + r * n;
    T max = row[0];
    for (int64_t i = 1; i < n; ++i) max = row[i] > max ? row[i] : max;
    for (int64_t i = 0; i < n; ++i) row[i] = (row[i] - max) * scale;
  }
  int64_t i = 0;
  for (; i + lanes <= rows * n; i += lanes) hn::StoreU(exp(d, hn::LoadU(d, x + i)), d, x + i);
  for (; i < rows * n; ++i) x[i] = std::exp(x[i]);
  for (int64_t r = 0; r < rows; ++r) {
    T* row = x + r * n;
    T sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += row[j];
    const T inverse = 1 / sum;
    for (int64_t j = 0; j < n; ++j) row[j] *= inverse;
  }
}

template <typename T>
void all_rows(T* x, int64_t rows, int64_t n, T scale) {
  const hn::ScalableTag<T> d;
  if (n < static_cast<int64_t>(hn::Lanes(d))) return short_softmax_rows(x, rows, n, scale);
  for (int64_t r = 0; r < rows; ++r) softmax(x + r * n, n, scale);
}

void softmax_f(float* x, int64_t rows, int64_t n, float scale) { all_rows(x, rows, n, scale); }
void softmax_d(double* x, int64_t rows, int64_t n, double scale) { all_rows(x, rows, n, scale); }
void gradient_f(const float* y, const float* dy, float* dx, int64_t rows, int64_t n, float scale) {
  for (int64_t r = 0; r < rows; ++r) softmax_gradient(y + r * n, dy + r * n, dx + r * n, n, scale);
}
void gradient_d(const double* y, const double* dy, double* dx, int64_t rows, int64_t n,
                double scale) {
  for (int64_t r = 0; r < rows; ++r) softmax_gradient(y + r * n, dy + r * n, dx + r * n, n, scale);
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(softmax_f);
HWY_EXPORT(softmax_d);
HWY_EXPORT(gradient_f);
HWY_EXPORT(gradient_d);

void softmax_rows(float* x, int64_t rows, int64_t n, float scale) {
  HWY_DYNAMIC_DISPATCH(softmax_f)(x, rows, n, scale);
}
void softmax_rows(double* x, int64_t rows, int64_t n, double scale) {
  HWY_DYNAMIC_DISPATCH(softmax_d)(x, rows, n, scale);
}
void softmax_rows_backward(const float* y, const float* dy, float* dx, int64_t rows, int64_t n,
                           float scale) {
  HWY_DYNAMIC_DISPATCH(gradient_f)(y, dy, dx, rows, n, scale);
}
void softmax_rows_backward(const double* y, const double* dy, double* dx, int64_t rows, int64_t n,
                           double scale) {
  HWY_DYNAMIC_DISPATCH(gradient_d)(y, dy, dx, rows, n, scale);
}

}  // namespace vitrine::kernels
#endif
