#include "vitrine/kernels/transpose.h"

// Vectors of a size that only the machine knows cannot stand in arrays.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A matrix of words or a part of it.
template <typename Word>
struct Matrix {
  Word* words;
  int64_t stride;

  Word* row(int64_t i) const { return words + i * stride; }
};

using In = Matrix<const int32_t>;
using Out = Matrix<int32_t>;

#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kSide = 1;
template <int64_t kSide>
HWY_INLINE void transpose_square(In in, Out out) {
  *out.words = *in.words;
}
#else
/// The side of the squares that are transposed in registers.
constexpr int64_t kSide = hn::MaxLanes(hn::ScalableTag<int32_t>());
constexpr int64_t kBlock = 4;  // words of 128 bits

/// Four vectors v[i], each of blocks of four words: word j of each block goes to v[j], as its word
/// i.
template <typename D, typename V>
HWY_INLINE void transpose_blocks(D d, V* v) {
  const hn::Repartition<int64_t, D> pairs;
  const auto low_ab = hn::BitCast(pairs, hn::InterleaveLower(d, v[0], v[1]));
  const auto low_cd = hn::BitCast(pairs, hn::InterleaveLower(d, v[2], v[3]));
  const auto high_ab = hn::BitCast(pairs, hn::InterleaveUpper(d, v[0], v[1]));
  const auto high_cd = hn::BitCast(pairs, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low_ab, low_cd));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low_ab, low_cd));
  v[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high_ab, high_cd));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high_ab, high_cd));
}

/// The blocks of a row that four rows of blocks give, [group][block], likewise: [block][group].
template <typename D, typename V>
HWY_INLINE void exchange_blocks(D d, V (&v)[1]) {
  (void)d, (void)v;
}
template <typename D, typename V>
HWY_INLINE void exchange_blocks(D d, V (&v)[2]) {
  const auto a = v[0], b = v[1];
  v[0] = hn::ConcatLowerLower(d, b, a);
  v[1] = hn::ConcatUpperUpper(d, b, a);
}
template <typename D, typename V>
HWY_INLINE void exchange_blocks(D d, V (&v)[4]) {
  const auto even = [](V a, V b) { return hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a); };
  const auto odd = [](V a, V b) { return hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a)); };
  const auto even_ab = even(v[0], v[1]), even_cd = even(v[2], v[3]);  // a0 b0 a2 b2, ...
  const auto odd_ab = odd(v[0], v[1]), odd_cd = odd(v[2], v[3]);      // a1 b1 a3 b3, ...
  v[0] = hn::ConcatLowerLower(d, even_cd, even_ab);
  v[1] = hn::ConcatLowerLower(d, odd_cd, odd_ab);
  v[2] = hn::ConcatUpperUpper(d, even_cd, even_ab);
  v[3] = hn::ConcatUpperUpper(d, odd_cd, odd_ab);
}

template <int64_t kSide>
HWY_INLINE void transpose_square(In in, Out out) {
  constexpr int64_t kGroups = kSide / kBlock;
  const hn::CappedTag<int32_t, kSide> d;
  using V = hn::Vec<decltype(d)>;
  V v[kGroups][kBlock];
#pragma GCC unroll 4
  for (int64_t group = 0; group < kGroups; ++group) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kBlock; ++i) v[group][i] = hn::LoadU(d, in.row(group * kBlock + i));
    transpose_blocks(d, v[group]);
  }
#pragma GCC unroll 4
  for (int64_t j = 0; j < kBlock; ++j) {
    V same[kGroups];  // word j of all blocks
#pragma GCC unroll 4
    for (int64_t group = 0; group < kGroups; ++group) same[group] = v[group][j];
    exchange_blocks(d, same);
#pragma GCC unroll 4
    for (int64_t block = 0; block < kGroups; ++block)
      hn::StoreU(same[block], d, out.row(block * kBlock + j));
  }
}
#endif

/// In squares as long as they fit, the rest in smaller ones.
template <int64_t kSquare>
void by_squares(In in, int64_t rows, int64_t columns, Out out) {
  const auto whole_rows = rows - rows % kSquare, whole_columns = columns - columns % kSquare;
  for (int64_t i = 0; i < whole_rows; i += kSquare)
    for (int64_t j = 0; j < whole_columns; j += kSquare)
      transpose_square<kSquare>({in.row(i) + j, in.stride}, {out.row(j) + i, out.stride});
  const auto rest = [&](int64_t i, int64_t end_i, int64_t j, int64_t end_j) {
    const In from{in.row(i) + j, in.stride};
    const Out to{out.row(j) + i, out.stride};
    if constexpr (kSquare > 4)
      by_squares<4>(from, end_i - i, end_j - j, to);
    else
      for (int64_t b = 0; b < end_j - j; ++b)
        for (int64_t a = 0; a < end_i - i; ++a) to.row(b)[a] = from.row(a)[b];
  };
  if (whole_rows < rows) rest(whole_rows, rows, 0, whole_columns);
  if (whole_columns < columns) rest(0, rows, whole_columns, columns);
}

void transpose(const int32_t* in, int64_t in_stride, int64_t rows, int64_t columns, int32_t* out,
               int64_t out_stride) {
  by_squares<kSide>({in, in_stride}, rows, columns, {out, out_stride});
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(transpose);

void transpose_words(const int32_t* in, int64_t in_stride, int64_t rows, int64_t columns,
                     int32_t* out, int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(transpose)(in, in_stride, rows, columns, out, out_stride);
}

}  // namespace vitrine::kernels
#endif
