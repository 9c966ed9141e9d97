#pragma once

#include "vitrine/kernels/packed_panels.h"

// Products with weights that were converted and packed once: int8 with int32 sums, bf16 or fp32
// with fp32 sums.
namespace vitrine::kernels {

PackedLayout packed_layout();

/// Whether int8 products are done by instructions of their own (AVX512_VNNI).
bool has_int8_products();

/// Whether bf16 products are done by instructions of their own (AVX512_BF16).
bool has_bf16_products();

/// x is about scale (q - zero): a row of inputs as bytes whose range holds the row and 0. The
/// scale of a row that is not finite is NaN.
struct RowScale {
  float scale = 0;
  int32_t zero = 0;
};
RowScale quantize_row(const float* x, int64_t k, int32_t* words);

/// y = x W^T + b or its GELU, with all that a part of it needs.
struct PackedProduct {
  int64_t n = 0, words = 0;
  const int32_t* rows = nullptr;    // (M / group, words, group); of fp32 the numbers
  int64_t row_stride = 0;           // from row to row if `group` is 1, else their `words`
  int64_t group = 1;                // so many rows lie side by side, word by word
  const int32_t* panels = nullptr;  // (panels, words, columns)
  const float* bias = nullptr;      // (panels * columns); null: none
  float* y = nullptr;               // (M, n)
  int64_t y_stride = 0;             // from row to row
  bool gelu = false;                // within 3e-7 of the exact one, relative to the input
  // Of int8 alone:
  const RowScale* row_scale = nullptr;  // (M)
  const float* scale = nullptr;         // (panels * columns)
  const int32_t* sum = nullptr;         // (panels * columns)
};

/// The outputs of one panel for `count` rows from `first` on.
void fp32_product(const PackedProduct& p, int64_t panel, int64_t first, int64_t count);
void bf16_product(const PackedProduct& p, int64_t panel, int64_t first, int64_t count);
void int8_product(const PackedProduct& p, int64_t panel, int64_t first, int64_t count);

}  // namespace vitrine::kernels
