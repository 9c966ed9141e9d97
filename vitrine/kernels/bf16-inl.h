// Rounding to bf16 and products of bf16 numbers, compiled for each instruction set. A file that
// includes this defines HWY_WANT_AVX3_DL first and, for that target, enables avx512bf16.
#if defined(VITRINE_KERNELS_BF16_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_KERNELS_BF16_INL_H
#undef VITRINE_KERNELS_BF16_INL_H
#else
#define VITRINE_KERNELS_BF16_INL_H
#endif

#include <hwy/highway.h>

#include "vitrine/kernels/packed_product.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL
// Used only where `has_bf16_products`.
#pragma GCC push_options
#pragma GCC target("avx512bf16")
#endif
namespace vitrine::kernels::HWY_NAMESPACE {

/// By the instructions that every processor has.
struct PlainBf16 {
  /// sum + the products of the two bf16 numbers of each lane, which are the upper halves of floats.
  template <typename F, typename Sum, typename Words>
  static HWY_INLINE Sum add(F f, Sum sum, Words x, Words y) {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto upper = hn::Set(hn::RebindToSigned<F>(), static_cast<int32_t>(0xffff0000));
    sum =
        hn::MulAdd(hn::BitCast(f, hn::ShiftLeft<16>(x)), hn::BitCast(f, hn::ShiftLeft<16>(y)), sum);
    return hn::MulAdd(hn::BitCast(f, hn::And(x, upper)), hn::BitCast(f, hn::And(y, upper)), sum);
  }

  /// Writes a vector of floats rounded to bf16, ties to even; NaN stays NaN.
  template <typename F, typename Floats>
  static HWY_INLINE void store(F, Floats v, uint16_t* halves) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<uint16_t, F> h;
    const auto upper = hn::BitCast(hn::RebindToSigned<F>(), hn::ShiftRight<16>(rounded(F(), v)));
    hn::StoreU(hn::DemoteTo(h, upper), h, halves);
  }

  /// Words of two numbers each, rounded: `even` in the lower halves.
  template <typename F, typename Floats>
  static HWY_INLINE auto pair(F, Floats even, Floats odd) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::RebindToUnsigned<F> u;
    const auto upper = hn::And(rounded(F(), odd), hn::Set(u, 0xffff0000));
    return hn::BitCast(hn::RebindToSigned<F>(),
                       hn::Or(hn::ShiftRight<16>(rounded(F(), even)), upper));
  }

 private:
  /// In the upper halves.
  template <typename F, typename Floats>
  static HWY_INLINE auto rounded(F, Floats v) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::RebindToUnsigned<F> u;
    const auto bits = hn::BitCast(u, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
    const auto nearest = hn::Add(bits, hn::Add(hn::Set(u, 0x7fff), odd));
    const auto quiet_nan = hn::Or(bits, hn::Set(u, 0x400000));
    return hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(v)), quiet_nan, nearest);
  }
};

#if HWY_TARGET == HWY_AVX3_DL
/// The same by one instruction each, but that numbers below 2^-126 become 0.
struct NativeBf16 {
  template <typename F, typename Sum, typename Words>
  static HWY_INLINE Sum add(F, Sum sum, Words x, Words y) {
    return Sum{_mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(x.raw),
                                reinterpret_cast<__m512bh>(y.raw))};
  }

  template <typename F, typename Floats>
  static HWY_INLINE void store(F, Floats v, uint16_t* halves) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(halves),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(v.raw)));
  }

  template <typename F, typename Floats>
  static HWY_INLINE auto pair(F, Floats even, Floats odd) {
    namespace hn = hwy::HWY_NAMESPACE;
    alignas(64) static constexpr uint16_t kByTurns[32] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const auto halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd.raw, even.raw));
    const hn::RebindToSigned<F> words;
    return hn::Vec<decltype(words)>{_mm512_permutexvar_epi16(_mm512_load_si512(kByTurns), halves)};
  }
};
#endif

/// Calls `work` with the one that this processor is fast in.
template <typename Work>
HWY_INLINE auto with_bf16(const Work& work) {
#if HWY_TARGET == HWY_AVX3_DL
  if (has_bf16_products()) return work(NativeBf16());
#endif
  return work(PlainBf16());
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
#pragma GCC pop_options
#endif
HWY_AFTER_NAMESPACE();
#endif
