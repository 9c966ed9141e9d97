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
void round_by(const float* HWY_RESTRICT x, int64_t k, uint16_t* HWY_RESTRICT halves, float scale) {
  const FloatTag f;
  const auto factor = hn::Set(f, scale);
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes)
    Rounding::store(f, hn::Mul(hn::LoadU(f, x + i), factor), halves + i);
  if (i == k) return;
  float rest[kLanes] = {};
  uint16_t rounded[kLanes];
  std::copy(x + i, x + k, rest);
  Rounding::store(f, hn::Mul(hn::LoadU(f, rest), factor), rounded);
  std::copy_n(rounded, k - i, halves + i);
}

void round_numbers(const float* x, int64_t k, uint16_t* halves, float scale) {
  with_bf16([&](auto rounding) { round_by<decltype(rounding)>(x, k, halves, scale); });
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

void interleave_all(const uint16_t* x, int64_t row_stride, int64_t rows, int64_t n, int32_t* words,
                    int64_t word_stride) {
  for (; rows >= 2; rows -= 2, x += 2 * row_stride, words += word_stride)
    interleave(x, x + row_stride, n, words);
  if (rows == 1) std::copy_n(x, n, words);
}

void add_rows(const float* HWY_RESTRICT x, int64_t row_stride, int64_t rows, int64_t n,
              float* HWY_RESTRICT sums) {
  const FloatTag f;
  int64_t j = 0;
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

#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kSquare = 1;
HWY_INLINE void transpose_square(const int32_t* in, int64_t, int32_t* out, int64_t) { *out = *in; }
#else
/// The side of the squares that are transposed in registers.
constexpr int64_t kSquare = 4;

HWY_INLINE void transpose_square(const int32_t* in, int64_t in_stride, int32_t* out,
                                 int64_t out_stride) {
  const hn::Full128<int32_t> d;
  const hn::Full128<int64_t> pairs;
  const auto row = [&](int64_t i) { return hn::LoadU(d, in + i * in_stride); };
  const auto a = row(0), b = row(1), c = row(2), e = row(3);
  const auto low_ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto low_ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto high_ab = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto high_ce = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  const auto store = [&](auto column, int64_t j) {
    hn::StoreU(hn::BitCast(d, column), d, out + j * out_stride);
  };
  store(hn::InterleaveLower(pairs, low_ab, low_ce), 0);
  store(hn::InterleaveUpper(pairs, low_ab, low_ce), 1);
  store(hn::InterleaveLower(pairs, high_ab, high_ce), 2);
  store(hn::InterleaveUpper(pairs, high_ab, high_ce), 3);
}
#endif

void transpose(const int32_t* HWY_RESTRICT in, int64_t in_stride, int64_t rows, int64_t columns,
               int32_t* HWY_RESTRICT out, int64_t out_stride) {
  constexpr int64_t kBlock = 16;  // a cache line of words each way
  const auto plain = [&](int64_t i, int64_t end_i, int64_t j, int64_t end_j) {
    for (int64_t b = j; b < end_j; ++b)
      for (int64_t a = i; a < end_i; ++a) out[b * out_stride + a] = in[a * in_stride + b];
  };
  for (int64_t i = 0; i < rows; i += kBlock)
    for (int64_t j = 0; j < columns; j += kBlock) {
      const auto end_i = std::min(rows, i + kBlock), end_j = std::min(columns, j + kBlock);
      const auto whole_i = end_i - (end_i - i) % kSquare, whole_j = end_j - (end_j - j) % kSquare;
      for (int64_t b = j; b < whole_j; b += kSquare)
        for (int64_t a = i; a < whole_i; a += kSquare)
          transpose_square(in + a * in_stride + b, in_stride, out + b * out_stride + a, out_stride);
      plain(whole_i, end_i, j, whole_j);
      plain(i, end_i, whole_j, end_j);
    }
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
#pragma GCC pop_options
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(round_numbers);
HWY_EXPORT(expand_numbers);
HWY_EXPORT(interleave);
HWY_EXPORT(interleave_all);
HWY_EXPORT(add_rows);
HWY_EXPORT(transpose);

void round_row(const float* x, int64_t k, int32_t* words, float scale) {
  if (k % 2 != 0) words[k / 2] = 0;
  HWY_DYNAMIC_DISPATCH(round_numbers)(x, k, reinterpret_cast<uint16_t*>(words), scale);
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

void interleave_pairs(const uint16_t* x, int64_t row_stride, int64_t rows, int64_t n,
                      int32_t* words, int64_t word_stride) {
  HWY_DYNAMIC_DISPATCH(interleave_all)(x, row_stride, rows, n, words, word_stride);
}

void sum_rows(const float* x, int64_t row_stride, int64_t rows, int64_t n, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_rows)(x, row_stride, rows, n, sums);
}

void transpose_words(const int32_t* in, int64_t in_stride, int64_t rows, int64_t columns,
                     int32_t* out, int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(transpose)(in, in_stride, rows, columns, out, out_stride);
}

}  // namespace vitrine::kernels
#endif
