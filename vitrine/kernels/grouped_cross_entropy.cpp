#include "vitrine/kernels/grouped_cross_entropy.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/grouped_cross_entropy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void exponentials(T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(exp(d, hn::LoadU(d, x + i)), d, x + i);
  for (; i < n; ++i) x[i] = std::exp(x[i]);
}

/// Moves each group so that its largest logit is 0; returns the sum of the targets' logits.
template <typename T>
double shift_groups(const GroupedLogits<T>& in, T* shifted) {
  const T* x = in.logits;
  const int64_t* target = in.targets;
  double total = 0;
  for (int64_t row = 0; row < in.rows; ++row) {
    for (const auto n : in.groups) {
      const T top = *std::max_element(x, x + n);
      T sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += shifted[i] = x[i] - top;
      total += (1 - in.smoothing) * shifted[*target++] + in.smoothing / n * sum;
      x += n;
      shifted += n;
    }
  }
  return total;
}

/// Turns exponentials into gradients; returns the sum of the groups' log-sums.
template <typename T>
double finish_groups(const GroupedLogits<T>& in, T factor, T* e) {
  const int64_t* target = in.targets;
  double total = 0;
  for (int64_t row = 0; row < in.rows; ++row) {
    for (const auto n : in.groups) {
      T sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += e[i];
      total += std::log(sum);
      const T scale = factor / sum, spread = factor * in.smoothing / n;
      for (int64_t i = 0; i < n; ++i) e[i] = e[i] * scale - spread;
      e[*target++] -= factor * (1 - in.smoothing);
      e += n;
    }
  }
  return total;
}

template <typename T>
double loss_and_gradient(const GroupedLogits<T>& in, T factor, T* gradient) {
  int64_t width = 0;
  for (const auto n : in.groups) width += n;
  const double targets = shift_groups(in, gradient);
  exponentials(gradient, in.rows * width);
  return finish_groups(in, factor, gradient) - targets;
}

double cross_entropy_f(const GroupedLogits<float>& in, float factor, float* gradient) {
  return loss_and_gradient(in, factor, gradient);
}
double cross_entropy_d(const GroupedLogits<double>& in, double factor, double* gradient) {
  return loss_and_gradient(in, factor, gradient);
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(cross_entropy_f);
HWY_EXPORT(cross_entropy_d);

double grouped_cross_entropy(const GroupedLogits<float>& in, float factor, float* gradient) {
  return HWY_DYNAMIC_DISPATCH(cross_entropy_f)(in, factor, gradient);
}
double grouped_cross_entropy(const GroupedLogits<double>& in, double factor, double* gradient) {
  return HWY_DYNAMIC_DISPATCH(cross_entropy_d)(in, factor, gradient);
}

}  // namespace vitrine::kernels
#endif
