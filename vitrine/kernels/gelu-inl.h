// The GELU of a vector, compiled for each instruction set.
#if defined(VITRINE_KERNELS_GELU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_KERNELS_GELU_INL_H
#undef VITRINE_KERNELS_GELU_INL_H
#else
#define VITRINE_KERNELS_GELU_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {

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
  const auto z = hn::Mul(hn::Abs(x), hn::Set(f, 0.70710678f));
  const auto t = hn::Div(hn::Set(f, 1), hn::MulAdd(z, hn::Set(f, 0.3275911f), hn::Set(f, 1)));
  auto sum = hn::Set(f, 0.5f * 1.061405429f);
  sum = hn::MulAdd(sum, t, hn::Set(f, 0.5f * -1.453152027f));
  sum = hn::MulAdd(sum, t, hn::Set(f, 0.5f * 1.421413741f));
  sum = hn::MulAdd(sum, t, hn::Set(f, 0.5f * -0.284496736f));
  sum = hn::MulAdd(sum, t, hn::Set(f, 0.5f * 0.254829592f));
  const auto bell = hn::Exp(f, hn::Neg(hn::Mul(z, z)));
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

/// P(X < x) + x p(x), its derivative, where p is the density.
template <typename V>
HWY_INLINE V gelu_slope(V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> f;
  const auto [tail, bell] = normal_tail(x);
  const auto below = hn::IfThenElse(hn::Lt(x, hn::Zero(f)), tail, hn::Sub(hn::Set(f, 1), tail));
  return hn::MulAdd(hn::Mul(x, bell), hn::Set(f, 0.39894228f), below);
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
