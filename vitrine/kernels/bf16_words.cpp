#include "vitrine/kernels/bf16_words.h"

#include <algorithm>
#include <bit>

// Vectors of a size that only the machine knows cannot stand in arrays.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/bf16_words.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/bf16-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL
// Used only where `has_bf16_products`.
#pragma GCC push_options
#pragma GCC target("avx512bf16")
#endif
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using WordTag = hn::ScalableTag<int32_t>;
using HalfTag = hn::Rebind<uint16_t, WordTag>;

constexpr int64_t kLanes = hn::MaxLanes(WordTag());

template <typename Rounding>
void round_by(const float* HWY_RESTRICT x, int64_t k, uint16_t* HWY_RESTRICT halves) {
  const FloatTag f;
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) Rounding::store(f, hn::LoadU(f, x + i), halves + i);
  if (i == k) return;
  float rest[kLanes] = {};
  uint16_t rounded[kLanes];
  std::copy(x + i, x + k, rest);
  Rounding::store(f, hn::LoadU(f, rest), rounded);
  std::copy_n(rounded, k - i, halves + i);
}

void round_all(const float* x, int64_t x_stride, int64_t rows, int64_t k, int32_t* words,
               int64_t word_stride) {
  with_bf16([&](auto rounding) {
    for (int64_t r = 0; r < rows; ++r, x += x_stride, words += word_stride) {
      if (k % 2 != 0) words[k / 2] = 0;
      round_by<decltype(rounding)>(x, k, reinterpret_cast<uint16_t*>(words));
    }
  });
}

/// Of two rows of n numbers; without `odd` the upper halves are 0.
template <typename Rounding>
HWY_INLINE void round_pair(const float* HWY_RESTRICT even, const float* HWY_RESTRICT odd, int64_t n,
                           int32_t* HWY_RESTRICT words) {
  const FloatTag f;
  const WordTag d;
  const auto upper = [&](const float* at) { return odd ? hn::LoadU(f, at) : hn::Zero(f); };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    hn::StoreU(Rounding::pair(f, hn::LoadU(f, even + i), upper(odd + i)), d, words + i);
  if (i == n) return;
  float rest[2 * kLanes] = {};
  int32_t rounded[kLanes];
  std::copy(even + i, even + n, rest);
  if (odd) std::copy(odd + i, odd + n, rest + kLanes);
  hn::StoreU(Rounding::pair(f, hn::LoadU(f, rest), hn::LoadU(f, rest + kLanes)), d, rounded);
  std::copy_n(rounded, n - i, words + i);
}

void round_and_pair(const float* x, int64_t row_stride, int64_t rows, int64_t n, int32_t* words,
                    int64_t word_stride) {
  with_bf16([&](auto rounding) {
    for (; rows > 0; rows -= 2, x += 2 * row_stride, words += word_stride)
      round_pair<decltype(rounding)>(x, rows > 1 ? x + row_stride : nullptr, n, words);
  });
}

void expand_numbers(const uint16_t* HWY_RESTRICT halves, int64_t k, float* HWY_RESTRICT x) {
  const FloatTag f;
  int64_t i = 0;
  const hn::RebindToUnsigned<FloatTag> u;
  for (; i + kLanes <= k; i += kLanes)
    hn::StoreU(
        hn::BitCast(f, hn::ShiftLeft<16>(hn::PromoteTo(u, hn::LoadU(HalfTag(), halves + i)))), f,
        x + i);
  for (; i < k; ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(halves[i]) << 16);
}

void interleave(const uint16_t* HWY_RESTRICT even, const uint16_t* HWY_RESTRICT odd, int64_t n,
                int32_t* HWY_RESTRICT words) {
  const WordTag d;
  const HalfTag h;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto lower = hn::PromoteTo(d, hn::LoadU(h, even + i));
    const auto upper = hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(h, odd + i)));
    hn::StoreU(hn::Or(lower, upper), d, words + i);
  }
  for (; i < n; ++i) words[i] = static_cast<int32_t>(even[i] | static_cast<uint32_t>(odd[i]) << 16);
}

void add_rows(const float* HWY_RESTRICT x, int64_t row_stride, int64_t rows, int64_t n,
              float* HWY_RESTRICT sums) {
  const FloatTag f;
  int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {  // what lies side by side at once
    auto sum0 = hn::Zero(f), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (int64_t i = 0; i < rows; ++i) {
      const float* row = x + i * row_stride + j;
      sum0 = hn::Add(sum0, hn::LoadU(f, row));
      sum1 = hn::Add(sum1, hn::LoadU(f, row + kLanes));
      sum2 = hn::Add(sum2, hn::LoadU(f, row + 2 * kLanes));
      sum3 = hn::Add(sum3, hn::LoadU(f, row + 3 * kLanes));
    }
    hn::StoreU(sum0, f, sums + j);
    hn::StoreU(sum1, f, sums + j + kLanes);
    hn::StoreU(sum2, f, sums + j + 2 * kLanes);
    hn::StoreU(sum3, f, sums + j + 3 * kLanes);
  }
  for (; j + kLanes <= n; j += kLanes) {
    auto sum = hn::Zero(f);
    for (int64_t i = 0; i < rows; ++i) sum = hn::Add(sum, hn::LoadU(f, x + i * row_stride + j));
    hn::StoreU(sum, f, sums + j);
  }
  for (; j < n; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < rows; ++i) sum += x[i * row_stride + j];
    sums[j] = sum;
  }
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
#pragma GCC pop_options
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(round_all);
HWY_EXPORT(round_and_pair);
HWY_EXPORT(expand_numbers);
HWY_EXPORT(interleave);
HWY_EXPORT(add_rows);

void round_row(const float* x, int64_t k, int32_t* words) {
  round_rows(x, k, /*rows=*/1, k, words, /*word_stride=*/0);
}

void round_rows(const float* x, int64_t x_stride, int64_t rows, int64_t k, int32_t* words,
                int64_t word_stride) {
  HWY_DYNAMIC_DISPATCH(round_all)(x, x_stride, rows, k, words, word_stride);
}

void expand_row(const int32_t* words, int64_t k, float* x) {
  HWY_DYNAMIC_DISPATCH(expand_numbers)(reinterpret_cast<const uint16_t*>(words), k, x);
}

void interleave_rows(const uint16_t* even, const uint16_t* odd, int64_t n, int32_t* words) {
  if (odd == nullptr)
    std::copy_n(even, n, words);
  else
    HWY_DYNAMIC_DISPATCH(interleave)(even, odd, n, words);
}

void round_pairs(const float* x, int64_t row_stride, int64_t rows, int64_t n, int32_t* words,
                 int64_t word_stride) {
  HWY_DYNAMIC_DISPATCH(round_and_pair)(x, row_stride, rows, n, words, word_stride);
}

void sum_rows(const float* x, int64_t row_stride, int64_t rows, int64_t n, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_rows)(x, row_stride, rows, n, sums);
}

}  // namespace vitrine::kernels
#endif
