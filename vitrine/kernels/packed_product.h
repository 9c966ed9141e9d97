#pragma once

#include <cstdint>

// Products with weights that were converted and packed once: int8 with int32 sums, or bf16 with
// fp32 sums. Both see a row as 32-bit words along k, of four bytes or two bf16 numbers each.
namespace vitrine::kernels {

inline constexpr int64_t kInt8PerWord = 4, kBf16PerWord = 2;

/// The words that hold a row of k numbers.
constexpr int64_t words_of(int64_t k, int64_t per_word) { return (k + per_word - 1) / per_word; }

/// How this processor wants weights packed.
struct PackedLayout {
  int64_t columns = 1;     // weights for so many outputs lie side by side, in a panel
  int32_t int8_limit = 1;  // the largest magnitude of an int8 weight

  int64_t panels(int64_t n) const { return (n + columns - 1) / columns; }
};

PackedLayout packed_layout();

/// Whether int8 products are done by instructions of their own (AVX512_VNNI).
bool has_int8_products();

/// Whether bf16 products are done by instructions of their own (AVX512_BF16).
bool has_bf16_products();

/// One panel of the weights (n, k), each row with a scale of its own: w is about scale times an
/// integer of at most `int8_limit`. Into `panels`, (panels, words, columns), where outputs beyond n
/// are 0; `scale` and the integers' `sum` have a number for each output, those beyond n too.
void pack_int8(const float* w, int64_t n, int64_t k, const PackedLayout& layout, int64_t panel,
               int32_t* panels, float* scale, int32_t* sum);
/// The inverse: scale times integer, (n, k).
void unpack_int8(const int32_t* panels, const float* scale, int64_t n, int64_t k,
                 const PackedLayout& layout, float* w);

/// The same for bf16, of finite weights.
void pack_bf16(const float* w, int64_t n, int64_t k, const PackedLayout& layout, int64_t panel,
               int32_t* panels);
void unpack_bf16(const int32_t* panels, int64_t n, int64_t k, const PackedLayout& layout, float* w);

/// x is about scale (q - zero): a row of inputs as bytes whose range holds the row and 0. The
/// scale of a row that is not finite is NaN.
struct RowScale {
  float scale = 0;
  int32_t zero = 0;
};
RowScale quantize_row(const float* x, int64_t k, int32_t* words);

/// A row of inputs rounded to bf16.
void round_row(const float* x, int64_t k, int32_t* words);

/// y = x W^T + b or its GELU, with all that a part of it needs.
struct PackedProduct {
  int64_t n = 0, words = 0;
  const int32_t* rows = nullptr;    // (M, words)
  const int32_t* panels = nullptr;  // (panels, words, columns)
  const float* bias = nullptr;      // (panels * columns)
  float* y = nullptr;               // (M, n)
  bool gelu = false;                // within 2e-7 of the exact one, relative to the input
  // Of int8 alone:
  const RowScale* row_scale = nullptr;  // (M)
  const float* scale = nullptr;         // (panels * columns)
  const int32_t* sum = nullptr;         // (panels * columns)
};

/// The outputs of one panel for `count` rows from `first` on.
void int8_product(const PackedProduct& p, int64_t panel, int64_t first, int64_t count);
void bf16_product(const PackedProduct& p, int64_t panel, int64_t first, int64_t count);

}  // namespace vitrine::kernels
