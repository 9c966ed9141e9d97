#include "vitrine/kernels/adam.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/adam.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void adam_step(const AdamStep& s, T* HWY_RESTRICT w, const T* HWY_RESTRICT g, T* HWY_RESTRICT m,
               T* HWY_RESTRICT v, int64_t n) {
  const T b1 = T(s.beta1), b2 = T(s.beta2), scale = T(s.gradient_scale), l2 = T(s.l2_decay);
  const T keep = T(1 - s.lr * s.decoupled_decay), rate = T(s.lr / s.correction1), eps = T(s.eps);
  const T root = T(1 / std::sqrt(s.correction2));

  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto vb1 = hn::Set(d, b1), vb2 = hn::Set(d, b2), vscale = hn::Set(d, scale);
  const auto vl2 = hn::Set(d, l2), vkeep = hn::Set(d, keep), vrate = hn::Set(d, rate);
  const auto veps = hn::Set(d, eps), vroot = hn::Set(d, root);
  const auto va1 = hn::Set(d, 1 - b1), va2 = hn::Set(d, 1 - b2);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto weight = hn::LoadU(d, w + i);
    const auto gradient = hn::MulAdd(vl2, weight, hn::Mul(vscale, hn::LoadU(d, g + i)));
    const auto m1 = hn::MulAdd(va1, gradient, hn::Mul(vb1, hn::LoadU(d, m + i)));
    const auto m2 = hn::MulAdd(va2, hn::Mul(gradient, gradient), hn::Mul(vb2, hn::LoadU(d, v + i)));
    hn::StoreU(m1, d, m + i);
    hn::StoreU(m2, d, v + i);
    const auto divisor = hn::MulAdd(hn::Sqrt(m2), vroot, veps);
    hn::StoreU(hn::Sub(hn::Mul(weight, vkeep), hn::Div(hn::Mul(vrate, m1), divisor)), d, w + i);
  }
  for (; i < n; ++i) {
    const T gradient = l2 * w[i] + scale * g[i];
    m[i] = (1 - b1) * gradient + b1 * m[i];
    v[i] = (1 - b2) * gradient * gradient + b2 * v[i];
    w[i] = w[i] * keep - rate * m[i] / (std::sqrt(v[i]) * root + eps);
  }
}

void adam_f(const AdamStep& s, float* w, const float* g, float* m, float* v, int64_t n) {
  adam_step(s, w, g, m, v, n);
}
void adam_d(const AdamStep& s, double* w, const double* g, double* m, double* v, int64_t n) {
  adam_step(s, w, g, m, v, n);
}

double squares_d(const double* x, int64_t n) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto total = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto a = hn::LoadU(d, x + i);
    total = hn::MulAdd(a, a, total);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, total));
  for (; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

double squares_f(const float* x, int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto total = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(df, x + i));
    total = hn::MulAdd(a, a, total);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, total));
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(adam_f);
HWY_EXPORT(adam_d);
HWY_EXPORT(squares_f);
HWY_EXPORT(squares_d);

void adam(const AdamStep& s, float* w, const float* g, float* m, float* v, int64_t n) {
  HWY_DYNAMIC_DISPATCH(adam_f)(s, w, g, m, v, n);
}
void adam(const AdamStep& s, double* w, const double* g, double* m, double* v, int64_t n) {
  HWY_DYNAMIC_DISPATCH(adam_d)(s, w, g, m, v, n);
}
double sum_of_squares(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(squares_f)(x, n); }
double sum_of_squares(const double* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(squares_d)(x, n); }

}  // namespace vitrine::kernels
#endif
