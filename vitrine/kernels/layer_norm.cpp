#include "vitrine/kernels/layer_norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls f(tag, i) for every i that a vector starts at, then for the single numbers left over.
template <typename T, typename F>
HWY_INLINE void each(int64_t n, const F& f) {
  const hn::ScalableTag<T> whole;
  const hn::CappedTag<T, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(whole));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(whole, i);
  for (; i < n; ++i) f(single, i);
}

/// The sum of f(tag, i), vectors of numbers, over the same: four sums, which need not wait for each
/// other.
template <typename T, typename F>
HWY_INLINE T sum_of(int64_t n, const F& f) {
  const hn::ScalableTag<T> whole;
  const hn::CappedTag<T, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(whole));
  int64_t i = 0;
  auto sums = hn::Zero(whole), sums1 = sums, sums2 = sums, sums3 = sums;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sums = hn::Add(sums, f(whole, i));
    sums1 = hn::Add(sums1, f(whole, i + lanes));
    sums2 = hn::Add(sums2, f(whole, i + 2 * lanes));
    sums3 = hn::Add(sums3, f(whole, i + 3 * lanes));
  }
  sums = hn::Add(hn::Add(sums, sums1), hn::Add(sums2, sums3));
  for (; i + lanes <= n; i += lanes) sums = hn::Add(sums, f(whole, i));
  T sum = i > 0 ? hn::GetLane(hn::SumOfLanes(whole, sums)) : T(0);
  for (; i < n; ++i) sum += hn::GetLane(f(single, i));
  return sum;
}

template <typename T>
void forward(const NormRows<T>& r, const T* beta, T eps, T* y) {
  const T inv_n = T(1) / static_cast<T>(r.n);
  for (int64_t row = 0; row < r.rows; ++row) {
    const T* x = r.x + row * r.n;
    T* out = y + row * r.n;
    const T mean =
        inv_n * sum_of<T>(r.n, [&](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
    const T squares = sum_of<T>(r.n, [&](auto d, int64_t i) HWY_ATTR {
      const auto away = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
      return hn::Mul(away, away);
    });
    const T inv_std = 1 / std::sqrt(squares * inv_n + eps);
    each<T>(r.n, [&](auto d, int64_t i) HWY_ATTR {
      const auto away = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
      const auto unit = hn::Mul(away, hn::Set(d, inv_std));
      hn::StoreU(hn::MulAdd(unit, hn::LoadU(d, r.gamma + i), hn::LoadU(d, beta + i)), d, out + i);
    });
    r.mean[row] = mean;
    r.inv_std[row] = inv_std;
  }
}

template <typename T>
void backward(const NormRows<T>& r, const T* dy, T* dx, T* d_gamma, T* d_beta) {
  const T inv_n = T(1) / static_cast<T>(r.n);
  for (int64_t row = 0; row < r.rows; ++row) {
    const T* x = r.x + row * r.n;
    const T* g = dy + row * r.n;
    T* out = dx + row * r.n;
    const T mean = r.mean[row], inv_std = r.inv_std[row];
    const auto unit = [&](auto d, int64_t i) HWY_ATTR {
      return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, inv_std));
    };
    const auto scaled_gradient = [&](auto d, int64_t i) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, g + i), hn::LoadU(d, r.gamma + i));
    };
    const T sum = sum_of<T>(r.n, scaled_gradient);
    const T dot = sum_of<T>(r.n, [&](auto d, int64_t i) HWY_ATTR {
      const auto gradient = hn::LoadU(d, g + i), u = unit(d, i);
      hn::StoreU(hn::MulAdd(gradient, u, hn::LoadU(d, d_gamma + i)), d, d_gamma + i);
      hn::StoreU(hn::Add(gradient, hn::LoadU(d, d_beta + i)), d, d_beta + i);
      return hn::Mul(scaled_gradient(d, i), u);
    });
    each<T>(r.n, [&](auto d, int64_t i) HWY_ATTR {
      const auto along = hn::MulAdd(unit(d, i), hn::Set(d, dot * inv_n), hn::Set(d, sum * inv_n));
      const auto across = hn::Sub(scaled_gradient(d, i), along);
      hn::StoreU(hn::Mul(across, hn::Set(d, inv_std)), d, out + i);
    });
  }
}

void forward_f(const NormRows<float>& r, const float* beta, float eps, float* y) {
  forward(r, beta, eps, y);
}
void forward_d(const NormRows<double>& r, const double* beta, double eps, double* y) {
  forward(r, beta, eps, y);
}
void backward_f(const NormRows<float>& r, const float* dy, float* dx, float* ds, float* db) {
  backward(r, dy, dx, ds, db);
}
void backward_d(const NormRows<double>& r, const double* dy, double* dx, double* ds, double* db) {
  backward(r, dy, dx, ds, db);
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(forward_f);
HWY_EXPORT(forward_d);
HWY_EXPORT(backward_f);
HWY_EXPORT(backward_d);

void layer_norm(const NormRows<float>& rows, const float* beta, float eps, float* y) {
  HWY_DYNAMIC_DISPATCH(forward_f)(rows, beta, eps, y);
}
void layer_norm(const NormRows<double>& rows, const double* beta, double eps, double* y) {
  HWY_DYNAMIC_DISPATCH(forward_d)(rows, beta, eps, y);
}
void layer_norm_backward(const NormRows<float>& rows, const float* dy, float* dx, float* d_gamma,
                         float* d_beta) {
  HWY_DYNAMIC_DISPATCH(backward_f)(rows, dy, dx, d_gamma, d_beta);
}
void layer_norm_backward(const NormRows<double>& rows, const double* dy, double* dx,
                         double* d_gamma, double* d_beta) {
  HWY_DYNAMIC_DISPATCH(backward_d)(rows, dy, dx, d_gamma, d_beta);
}

}  // namespace vitrine::kernels
#endif
