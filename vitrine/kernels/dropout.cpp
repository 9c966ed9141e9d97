#include "vitrine/kernels/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/dropout.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A 32-bit integer hash (two multiply-xorshift rounds) of the element's number and the key.
HWY_INLINE uint32_t hash(uint32_t index, uint32_t low, uint32_t high) {
  uint32_t h = (index ^ low) * 0x7FEB352Du;
  h = (h ^ (h >> 15) ^ high) * 0x846CA68Bu;
  return h ^ (h >> 16);
}

/// The key of the 2^32 elements that `first` lies in.
HWY_INLINE uint64_t block_key(uint64_t key, uint64_t first) {
  uint64_t z = key + 0x9E3779B97F4A7C15u * ((first >> 32) + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  return z ^ (z >> 31);
}

/// Elements whose hash is below this are dropped.
HWY_INLINE uint32_t threshold(float p) { return static_cast<uint32_t>(p * 4294967040.0); }

template <typename T>
void drop_plain(const T* x, T* y, int64_t n, float p, uint64_t key, uint64_t first) {
  const T scale = T(1) / (T(1) - T(p));
  const uint32_t limit = threshold(p);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t at = first + static_cast<uint64_t>(i);
    const uint64_t k = block_key(key, at);
    const bool kept = hash(static_cast<uint32_t>(at), static_cast<uint32_t>(k),
                           static_cast<uint32_t>(k >> 32)) >= limit;
    y[i] = kept ? x[i] * scale : T(0);
  }
}

void drop_d(const double* x, double* y, int64_t n, float p, uint64_t key, uint64_t first) {
  drop_plain(x, y, n, p, key, first);
}

void drop_f(const float* x, float* y, int64_t n, float p, uint64_t key, uint64_t first) {
  const hn::ScalableTag<float> df;
  const hn::ScalableTag<uint32_t> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const bool one_block = (first >> 32) == ((first + static_cast<uint64_t>(n)) >> 32);
  int64_t i = 0;
  if (one_block) {
    const uint64_t k = block_key(key, first);
    const auto low = hn::Set(du, static_cast<uint32_t>(k));
    const auto high = hn::Set(du, static_cast<uint32_t>(k >> 32));
    const auto scale = hn::Set(df, 1.0f / (1.0f - p));
    const auto limit = hn::Set(du, threshold(p));
    const auto m1 = hn::Set(du, 0x7FEB352Du), m2 = hn::Set(du, 0x846CA68Bu);
    for (; i + lanes <= n; i += lanes) {
      const auto index = hn::Iota(du, static_cast<uint32_t>(first + static_cast<uint64_t>(i)));
      auto h = hn::Mul(hn::Xor(index, low), m1);
      h = hn::Mul(hn::Xor(hn::Xor(h, hn::ShiftRight<15>(h)), high), m2);
      h = hn::Xor(h, hn::ShiftRight<16>(h));
      const auto dropped = hn::RebindMask(df, hn::Gt(limit, h));
      hn::StoreU(hn::IfThenZeroElse(dropped, hn::Mul(hn::LoadU(df, x + i), scale)), df, y + i);
    }
  }
  drop_plain(x + i, y + i, n - i, p, key, first + static_cast<uint64_t>(i));
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(drop_f);
HWY_EXPORT(drop_d);

void dropout(const float* x, float* y, int64_t n, float p, uint64_t key, uint64_t first) {
  HWY_DYNAMIC_DISPATCH(drop_f)(x, y, n, p, key, first);
}
void dropout(const double* x, double* y, int64_t n, float p, uint64_t key, uint64_t first) {
  HWY_DYNAMIC_DISPATCH(drop_d)(x, y, n, p, key, first);
}

}  // namespace vitrine::kernels
#endif
