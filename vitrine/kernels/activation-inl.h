// Activation functions of a vector, compiled for each instruction set.
#if defined(VITRINE_KERNELS_ACTIVATION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_KERNELS_ACTIVATION_INL_H
#undef VITRINE_KERNELS_ACTIVATION_INL_H
#else
#define VITRINE_KERNELS_ACTIVATION_INL_H
#endif

#include <hwy/highway.h>

#include "vitrine/core/activation.h"
#include "vitrine/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {

/// 1 / x of x from 1 to 1e9, within 2e-7, by a step of Newton's method.
template <typename V>
HWY_INLINE V reciprocal(V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto about = hn::ApproximateReciprocal(x);
  return hn::Mul(about, hn::NegMulAdd(x, about, hn::Set(hn::ScalableTag<float>(), 2)));
}

/// P(X > |x|) and exp(-x^2 / 2) for a normal X.
template <typename V>
struct NormalTail {
  V tail, bell;
};

/// erfc(z) of z >= 0 is exp(-z^2) times a polynomial of 1 / (1 + 0.3275911 z): Abramowitz and
/// Stegun, 7.1.26.
template <typename V>
HWY_INLINE NormalTail<V> normal_tail(V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> f;
  // Behind 10 the tail is 0 in fp32.
  const auto z = hn::Min(hn::Mul(hn::Abs(x), hn::Set(f, 0.70710678f)), hn::Set(f, 10));
  const auto t = reciprocal(hn::MulAdd(z, hn::Set(f, 0.3275911f), hn::Set(f, 1)));
  auto sum = hn::Set(f, 0.5f * 1.061405429f);
  sum = hn::MulAdd(sum, t, hn::Set(f, 0.5f * -1.453152027f));
  sum = hn::MulAdd(sum, t, hn::Set(f, 0.5f * 1.421413741f));
  sum = hn::MulAdd(sum, t, hn::Set(f, 0.5f * -0.284496736f));
  sum = hn::MulAdd(sum, t, hn::Set(f, 0.5f * 0.254829592f));
  const auto bell = exp(f, hn::Neg(hn::Mul(z, z)));
  return {hn::Mul(hn::Mul(sum, t), bell), bell};
}

/// x P(X < x), within 3e-7 of the exact one, relative to x.
template <typename V>
HWY_INLINE V gelu(V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> f;
  const auto tail = hn::Mul(x, normal_tail(x).tail);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(f)), tail, hn::Sub(x, tail));
}

/// A function's value and its derivative.
template <typename V>
struct ValueAndSlope {
  V value, slope;
};

/// The derivative is P(X < x) + x p(x), where p is the density.
struct GeluFunction {
  template <typename V>
  static HWY_INLINE V value(V x) {
    return gelu(x);
  }
  template <typename V>
  static HWY_INLINE ValueAndSlope<V> both(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> f;
    const auto [tail, bell] = normal_tail(x);
    const auto negative = hn::Lt(x, hn::Zero(f));
    const auto part = hn::Mul(x, tail);
    const auto below = hn::IfThenElse(negative, tail, hn::Sub(hn::Set(f, 1), tail));
    return {hn::IfThenElse(negative, part, hn::Sub(x, part)),
            hn::MulAdd(hn::Mul(x, bell), hn::Set(f, 0.39894228f), below)};
  }
};

struct ReluFunction {
  template <typename V>
  static HWY_INLINE V value(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto zero = hn::Zero(hn::ScalableTag<float>());
    return hn::IfThenZeroElse(hn::Lt(x, zero), x);  // NaN stays
  }
  template <typename V>
  static HWY_INLINE ValueAndSlope<V> both(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> f;
    return {value(x), hn::IfThenZeroElse(hn::Le(x, hn::Zero(f)), hn::Set(f, 1))};
  }
};

/// x sigmoid(a x + b x^3).
template <int kMillionthsA, int kMillionthsB>
struct SigmoidFunction {
  static constexpr float kA = 1e-6f * kMillionthsA, kB = 1e-6f * kMillionthsB;

  template <typename V>
  static HWY_INLINE V value(V x) {
    return hwy::HWY_NAMESPACE::Mul(x, sigmoid(x));
  }
  template <typename V>
  static HWY_INLINE ValueAndSlope<V> both(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> f;
    const auto s = sigmoid(x), value = hn::Mul(x, s);
    // Where x^2 is larger, 1 - s or s is 0.
    const auto square = hn::Min(hn::Mul(x, x), hn::Set(f, 1e6f));
    const auto inner = hn::MulAdd(square, hn::Set(f, 3 * kB), hn::Set(f, kA));
    const auto rest = hn::Mul(value, hn::Sub(hn::Set(f, 1), s));
    return {value, hn::MulAdd(rest, inner, s)};
  }

 private:
  template <typename V>
  static HWY_INLINE V sigmoid(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> f;
    auto inner = hn::Mul(x, hn::Set(f, kA));
    if constexpr (kMillionthsB != 0)
      inner = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), hn::Set(f, kB), hn::Set(f, kA)));
    const auto small = exp(f, hn::Min(hn::Neg(inner), hn::Set(f, 88)));  // no overflow
    return hn::Div(hn::Set(f, 1), hn::Add(hn::Set(f, 1), small));
  }
};

using QuickGeluFunction = SigmoidFunction<1702000, 0>;
// 0.5 (1 + tanh u) is sigmoid(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3).
using GeluTanhFunction = SigmoidFunction<1595769, 71355>;

/// Calls `work` with the function that `f` names.
template <typename Work>
HWY_INLINE void with_function(Activation f, const Work& work) {
  switch (f) {
    case Activation::Gelu:
      return work(GeluFunction());
    case Activation::Relu:
      return work(ReluFunction());
    case Activation::QuickGelu:
      return work(QuickGeluFunction());
    case Activation::GeluTanh:
      return work(GeluTanhFunction());
  }
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
