#include "vitrine/kernels/packed_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

// Vectors of a size that only the machine knows cannot stand in arrays.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/packed_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/activation-inl.h"
#include "vitrine/kernels/bf16-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL
// Highway 1.0 asks for processors with VNNI here, but does not tell the compiler. AVX512_BF16 is
// used only where `has_bf16_products`.
#pragma GCC push_options
#pragma GCC target("avx512vnni,avx512bf16")
#endif
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using WordTag = hn::ScalableTag<int32_t>;
using FloatTag = hn::ScalableTag<float>;
using Words = hn::Vec<WordTag>;
using Floats = hn::Vec<FloatTag>;

constexpr int64_t kLanes = hn::MaxLanes(WordTag());
// Sums of a tile stay in registers: 24 of AVX-512's 32, 12 or 8 of the 16 elsewhere.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;
constexpr int kVectors = kManyRegisters ? 4 : 2;
constexpr int64_t kColumns = kVectors * kLanes;

// Where two products of a byte and a weight are added in 16 bits, the weights must not exceed 64:
// 2 x 255 x 64 fits, and 2 x 255 x 127 would saturate.
constexpr bool kAddsIn16Bits = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;

PackedLayout layout() {
  return {.columns = kColumns,
          .int8_limit = kAddsIn16Bits ? 64 : std::numeric_limits<int8_t>::max()};
}

/// The products of the four unsigned bytes of each lane of `x` with the four signed ones of `w`.
struct Int8Dot {
  static constexpr bool kExact = false;  // its sums are not yet the results
  static constexpr int kTileRows = kManyRegisters ? 6 : 4;
  using Tag = WordTag;
  using Lane = int32_t;
  using Sum = Words;
  static HWY_INLINE Words add(Words sum, Words x, Words w) {
#if HWY_TARGET == HWY_AVX3_DL
    return Words{_mm512_dpbusd_epi32(sum.raw, x.raw, w.raw)};
#elif HWY_TARGET == HWY_AVX3
    const auto pairs = _mm512_maddubs_epi16(x.raw, w.raw);
    return Words{_mm512_add_epi32(sum.raw, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
#elif HWY_TARGET == HWY_AVX2
    const auto pairs = _mm256_maddubs_epi16(x.raw, w.raw);
    return Words{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
#else
    const WordTag d;
    const auto byte = hn::Set(d, 255);
    sum = hn::Add(sum, hn::Mul(hn::And(x, byte), hn::ShiftRight<24>(hn::ShiftLeft<24>(w))));
    sum = hn::Add(sum, hn::Mul(hn::And(hn::ShiftRight<8>(x), byte),
                               hn::ShiftRight<24>(hn::ShiftLeft<16>(w))));
    sum = hn::Add(sum, hn::Mul(hn::And(hn::ShiftRight<16>(x), byte),
                               hn::ShiftRight<24>(hn::ShiftLeft<8>(w))));
    return hn::Add(sum, hn::Mul(hn::And(hn::ShiftRight<24>(x), byte), hn::ShiftRight<24>(w)));
#endif
  }
  /// (sum - zero of the row * sum of the weights) * both scales + bias.
  static HWY_INLINE Floats result(Words sum, const PackedProduct& p, int64_t row, int64_t column) {
    const WordTag d;
    const FloatTag f;
    const auto [scale, zero] = p.row_scale[row];
    const auto whole = hn::Sub(sum, hn::Mul(hn::Set(d, zero), hn::LoadU(d, p.sum + column)));
    const auto both = hn::Mul(hn::Set(f, scale), hn::LoadU(f, p.scale + column));
    const auto bias = p.bias ? hn::LoadU(f, p.bias + column) : hn::Zero(f);
    return hn::MulAdd(hn::ConvertTo(f, whole), both, bias);
  }
};

/// The products of the lanes as floats.
struct Fp32Dot {
  static constexpr bool kExact = true;
  static constexpr int kTileRows = 6;
  using Tag = FloatTag;
  using Lane = float;
  using Sum = Floats;
  static HWY_INLINE Floats add(Floats sum, Words x, Words w) {
    const FloatTag f;
    return hn::MulAdd(hn::BitCast(f, x), hn::BitCast(f, w), sum);
  }
  static HWY_INLINE Floats result(Floats sum, const PackedProduct&, int64_t, int64_t) {
    return sum;
  }
};

/// The products of the two bf16 numbers of each lane.
template <typename Bf16>
struct Bf16Dot : Fp32Dot {
  static constexpr int kTileRows = kManyRegisters ? 6 : 4;
  static HWY_INLINE Floats add(Floats sum, Words x, Words w) {
    return Bf16::add(FloatTag(), sum, x, w);
  }
};

/// The words [begin, end) of all rows: so many that a panel's stay in a cache.
struct Chunk {
  int64_t begin, end;
  const int32_t* next;  // the words of the panel behind them, or of the next panel; null: none
};
constexpr int64_t kChunkWords = 1024;
constexpr int64_t kLineWords = 16;  // of a cache line

/// Rows of sums in memory, or of what they start from.
template <typename Lane>
struct TileRows {
  Lane* values;  // null: zeros
  int64_t stride;
};

/// The sums of kRows rows from `row` on with the first V vectors of one panel. Meanwhile a line of
/// `chunk.next` is fetched for each word.
template <typename Dot, int kRows, int V>
HWY_NOINLINE void tile_sums(const PackedProduct& p, Chunk chunk, int64_t panel, int64_t row,
                            TileRows<const typename Dot::Lane> start,
                            TileRows<typename Dot::Lane> out) {
  const WordTag d;
  const typename Dot::Tag t;
  typename Dot::Sum sum[kRows][V];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
      sum[r][v] =
          start.values ? hn::LoadU(t, start.values + r * start.stride + v * kLanes) : hn::Zero(t);
  const int64_t inside = row % p.group, to_row = p.group == 1 ? p.row_stride : 1, to_word = p.group;
  const int32_t* HWY_RESTRICT x =
      p.rows + (row - inside) * p.row_stride + inside + chunk.begin * to_word;
  const int32_t* HWY_RESTRICT w = p.panels + (panel * p.words + chunk.begin) * kColumns;
  const int32_t* next = chunk.next ? chunk.next : w;
  for (int64_t l = chunk.begin; l < chunk.end;
       ++l, x += to_word, w += kColumns, next += kLineWords) {
    __builtin_prefetch(next, /*rw=*/0, /*locality=*/2);  // into the second cache
    Words factor[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) factor[v] = hn::LoadU(d, w + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto same = hn::Set(d, x[r * to_row]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = Dot::add(sum[r][v], same, factor[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) hn::StoreU(sum[r][v], t, out.values + r * out.stride + v * kLanes);
}

/// From sums to results. Apart from the above, which needs all registers.
template <typename Dot>
HWY_NOINLINE void tile_results(const PackedProduct& p, int64_t column, int64_t row, int64_t rows,
                               const typename Dot::Lane* HWY_RESTRICT sums) {
  const FloatTag f;
  const int64_t inside = std::min(p.n - column, kColumns);
  for (int64_t r = row; r < row + rows; ++r, sums += kColumns) {
    float* y = p.y + r * p.y_stride + column;
    float edge[kColumns];
    float* out = inside == kColumns ? y : edge;
    for (int64_t i = 0; i < inside; i += kLanes) {
      const auto sum = hn::LoadU(typename Dot::Tag(), sums + i);
      const auto result = Dot::result(sum, p, r, column + i);
      hn::StoreU(p.gelu ? gelu(result) : result, f, out + i);
    }
    if (out == edge) std::copy_n(edge, inside, y);
  }
}

/// Sums go straight to where results belong if nothing has to be done to them and if they fill all
/// columns. Those of one chunk are where those of the next start.
template <typename Dot, int kRows>
void tile(const PackedProduct& p, Chunk chunk, int64_t panel, int64_t row) {
  using Lane = typename Dot::Lane;
  const int64_t column = panel * kColumns, inside = std::min(p.n - column, kColumns);
  const bool first = chunk.begin == 0, last = chunk.end == p.words, whole = inside == kColumns;
  Lane buffer[kRows * kColumns];  // in the cache
  const TileRows<Lane> there{reinterpret_cast<Lane*>(p.y + row * p.y_stride + column), p.y_stride},
      here{buffer, kColumns};
  TileRows<const Lane> start{nullptr, 0};
  if (!first) {
    start = {whole ? there.values : buffer, whole ? there.stride : kColumns};
    for (int64_t r = 0; r < kRows && !whole; ++r)
      std::memcpy(buffer + r * kColumns, there.values + r * there.stride, inside * sizeof(Lane));
  } else if constexpr (Dot::kExact) {
    start.values = p.bias ? p.bias + column : nullptr;
  }
  const bool finish = last && (!Dot::kExact || p.gelu);
  const auto out = whole && !finish ? there : here;
  if (inside <= kLanes)
    tile_sums<Dot, kRows, 1>(p, chunk, panel, row, start, out);
  else if (kVectors > 2 && inside <= 2 * kLanes)
    tile_sums<Dot, kRows, 2>(p, chunk, panel, row, start, out);
  else
    tile_sums<Dot, kRows, kVectors>(p, chunk, panel, row, start, out);
  if (finish)
    tile_results<Dot>(p, column, row, kRows, buffer);
  else if (!whole)
    for (int64_t r = 0; r < kRows; ++r)
      std::memcpy(there.values + r * there.stride, buffer + r * kColumns, inside * sizeof(Lane));
}

template <typename Dot>
void tiles(const PackedProduct& p, Chunk chunk, int64_t panel, int64_t first, int64_t count) {
  constexpr int kTileRows = Dot::kTileRows;
  constexpr int64_t kLinesOfWord = std::max<int64_t>(1, kColumns / kLineWords);
  int64_t row = first;
  const int64_t end = first + count;
  for (int64_t line = 0; row + kTileRows <= end; row += kTileRows) {
    tile<Dot, kTileRows>(p, chunk, panel, row);
    if (++line == kLinesOfWord)
      chunk.next = nullptr;
    else if (chunk.next)
      chunk.next += (chunk.end - chunk.begin) * kLineWords;
  }
  chunk.next = nullptr;
  if (kTileRows > 4 && row + 4 <= end) {
    tile<Dot, 4>(p, chunk, panel, row);
    row += 4;
  }
  if (row + 2 <= end) {
    tile<Dot, 2>(p, chunk, panel, row);
    row += 2;
  }
  if (row < end) tile<Dot, 1>(p, chunk, panel, row);
}

template <typename Dot>
void chunks(const PackedProduct& p, int64_t panel, int64_t first, int64_t count) {
  for (int64_t begin = 0; begin < p.words; begin += kChunkWords) {
    const auto end = std::min(begin + kChunkWords, p.words);
    const bool more = end < p.words || (panel + 1) * kColumns < p.n;
    const auto* next = more ? p.panels + (panel * p.words + end) * kColumns : nullptr;
    tiles<Dot>(p, {begin, end, next}, panel, first, count);
  }
}

void product_fp32(const PackedProduct& p, int64_t panel, int64_t first, int64_t count) {
  chunks<Fp32Dot>(p, panel, first, count);
}

void product_int8(const PackedProduct& p, int64_t panel, int64_t first, int64_t count) {
  chunks<Int8Dot>(p, panel, first, count);
}

void product_bf16(const PackedProduct& p, int64_t panel, int64_t first, int64_t count) {
  with_bf16([&](auto bf16) { chunks<Bf16Dot<decltype(bf16)>>(p, panel, first, count); });
}

RowScale row_to_bytes(const float* HWY_RESTRICT x, int64_t k, int32_t* HWY_RESTRICT words) {
  const FloatTag f;
  auto low = hn::Zero(f), high = hn::Zero(f), nothing = hn::Zero(f);
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    const auto v = hn::LoadU(f, x + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
    nothing = hn::MulAdd(v, hn::Zero(f), nothing);  // NaN if anything is not finite
  }
  float least = hn::GetLane(hn::MinOfLanes(f, low)), most = hn::GetLane(hn::MaxOfLanes(f, high));
  float broken = hn::GetLane(hn::SumOfLanes(f, nothing));
  for (; i < k; ++i) {
    least = std::min(least, x[i]);
    most = std::max(most, x[i]);
    broken += 0 * x[i];
  }
  auto* bytes = reinterpret_cast<uint8_t*>(words);
  if (k % kInt8PerWord != 0) words[k / kInt8PerWord] = 0;
  const float scale = (most - least) / 255;
  if (broken != 0 || !(scale > 0) || !std::isfinite(1 / scale)) {
    // Not finite, or so small that it is as good as 0.
    std::memset(bytes, 0, k);
    return {broken != 0 || std::isnan(scale) ? std::numeric_limits<float>::quiet_NaN() : 0.0f, 0};
  }
  const float inverse = 1 / scale;
  const auto zero = static_cast<int32_t>(std::nearbyint(-least * inverse));
  const WordTag d;
  const hn::Rebind<uint8_t, WordTag> b;
  for (i = 0; i + kLanes <= k; i += kLanes) {
    const auto q = hn::NearestInt(hn::Mul(hn::LoadU(f, x + i), hn::Set(f, inverse)));
    hn::StoreU(hn::DemoteTo(b, hn::Add(q, hn::Set(d, zero))), b, bytes + i);  // keeps to 0 .. 255
  }
  for (; i < k; ++i) {
    const auto q = static_cast<int32_t>(std::nearbyint(x[i] * inverse)) + zero;
    bytes[i] = static_cast<uint8_t>(std::clamp(q, 0, 255));
  }
  return {scale, zero};
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
#pragma GCC pop_options
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(layout);
HWY_EXPORT(product_fp32);
HWY_EXPORT(product_int8);
HWY_EXPORT(product_bf16);
HWY_EXPORT(row_to_bytes);

PackedLayout packed_layout() { return HWY_DYNAMIC_DISPATCH(layout)(); }

bool has_int8_products() { return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0; }

bool has_bf16_products() {
#ifdef __x86_64__
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}

RowScale quantize_row(const float* x, int64_t k, int32_t* words) {
  return HWY_DYNAMIC_DISPATCH(row_to_bytes)(x, k, words);
}

void fp32_product(const PackedProduct& p, int64_t panel, int64_t first, int64_t count) {
  HWY_DYNAMIC_DISPATCH(product_fp32)(p, panel, first, count);
}

void int8_product(const PackedProduct& p, int64_t panel, int64_t first, int64_t count) {
  HWY_DYNAMIC_DISPATCH(product_int8)(p, panel, first, count);
}

void bf16_product(const PackedProduct& p, int64_t panel, int64_t first, int64_t count) {
  HWY_DYNAMIC_DISPATCH(product_bf16)(p, panel, first, count);
}

}  // namespace vitrine::kernels
#endif
