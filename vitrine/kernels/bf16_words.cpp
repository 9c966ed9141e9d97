#include "vitrine/kernels/bf16_words.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/bf16_words.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void interleave(const uint16_t* HWY_RESTRICT even, const uint16_t* HWY_RESTRICT odd, int64_t n,
                int32_t* HWY_RESTRICT words) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<uint16_t, decltype(d)> h;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto low = hn::PromoteTo(d, hn::LoadU(h, even + i));
    const auto high = hn::PromoteTo(d, hn::LoadU(h, odd + i));
    hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), d, words + i);
  }
  for (; i < n; ++i) words[i] = static_cast<int32_t>(even[i] | static_cast<uint32_t>(odd[i]) << 16);
}

/// Four rows of four words as four columns.
HWY_INLINE void transpose_block(const int32_t* in, int64_t in_stride, int32_t* out,
                                int64_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t j = 0; j < 4; ++j)
    for (int64_t i = 0; i < 4; ++i) out[j * out_stride + i] = in[i * in_stride + j];
#else
  const hn::FixedTag<int32_t, 4> d;
  const hn::FixedTag<int64_t, 2> pairs;
  const auto row = [&](int64_t i) { return hn::LoadU(d, in + i * in_stride); };
  const auto a = row(0), b = row(1), c = row(2), e = row(3);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  const auto store = [&](int64_t j, auto column) {
    hn::StoreU(hn::BitCast(d, column), d, out + j * out_stride);
  };
  store(0, hn::InterleaveLower(pairs, ab_low, ce_low));
  store(1, hn::InterleaveUpper(pairs, ab_low, ce_low));
  store(2, hn::InterleaveLower(pairs, ab_high, ce_high));
  store(3, hn::InterleaveUpper(pairs, ab_high, ce_high));
#endif
}

void transpose(const int32_t* HWY_RESTRICT in, int64_t in_stride, int64_t rows, int64_t columns,
               int32_t* HWY_RESTRICT out, int64_t out_stride) {
  constexpr int64_t kSide = 16, kBlock = 4;  // a cache line of words each way; a vector
  for (int64_t i = 0; i < rows; i += kSide)
    for (int64_t j = 0; j < columns; j += kSide) {
      const auto end_i = std::min(rows, i + kSide), end_j = std::min(columns, j + kSide);
      for (int64_t a = i; a < end_i; a += kBlock)
        for (int64_t b = j; b < end_j; b += kBlock) {
          const auto* from = in + a * in_stride + b;
          auto* to = out + b * out_stride + a;
          if (a + kBlock <= end_i && b + kBlock <= end_j) {
            transpose_block(from, in_stride, to, out_stride);
            continue;
          }
          for (int64_t y = 0; y < std::min(kBlock, end_j - b); ++y)
            for (int64_t x = 0; x < std::min(kBlock, end_i - a); ++x)
              to[y * out_stride + x] = from[x * in_stride + y];
        }
    }
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(interleave);
HWY_EXPORT(transpose);

void interleave_rows(const uint16_t* even, const uint16_t* odd, int64_t n, int32_t* words) {
  if (odd == nullptr)
    std::copy_n(even, n, words);
  else
    HWY_DYNAMIC_DISPATCH(interleave)(even, odd, n, words);
}

void transpose_words(const int32_t* in, int64_t in_stride, int64_t rows, int64_t columns,
                     int32_t* out, int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(transpose)(in, in_stride, rows, columns, out, out_stride);
}

}  // namespace vitrine::kernels
#endif
