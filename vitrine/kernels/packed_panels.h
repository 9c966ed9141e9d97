#pragma once

#include <cstdint>

// Weights (n, k) as products with packed weights read them: in fp32, bf16 or int8, as 32-bit words
// along k of one, two or four numbers each, and for many outputs side by side.
namespace vitrine::kernels {

inline constexpr int64_t kFp32PerWord = 1, kBf16PerWord = 2, kInt8PerWord = 4;

/// The words that hold a row of k numbers.
constexpr int64_t words_of(int64_t k, int64_t per_word) { return (k + per_word - 1) / per_word; }

/// How this processor wants weights packed.
struct PackedLayout {
  int64_t columns = 1;     // weights for so many outputs lie side by side, in a panel
  int32_t int8_limit = 1;  // the largest magnitude of an int8 weight

  int64_t panels(int64_t n) const { return (n + columns - 1) / columns; }
};

/// One panel of rows of words, (n, words): weights in fp32 as they are, or rounded to bf16
/// (`round_row`). Into `panels`, (panels, words, columns), where outputs beyond n are 0.
void pack_words(const int32_t* rows, int64_t n, int64_t words, const PackedLayout& layout,
                int64_t panel, int32_t* panels);
/// The inverses: (n, k).
void unpack_fp32(const int32_t* panels, int64_t n, int64_t k, const PackedLayout& layout, float* w);
void unpack_bf16(const int32_t* panels, int64_t n, int64_t k, const PackedLayout& layout, float* w);

/// The same for int8, each row with a scale of its own: w is about scale times an integer of at
/// most `int8_limit`. `scale` and the integers' `sum` have a number for each output, those beyond n
/// too.
void pack_int8(const float* w, int64_t n, int64_t k, const PackedLayout& layout, int64_t panel,
               int32_t* panels, float* scale, int32_t* sum);
/// The inverse: scale times integer.
void unpack_int8(const int32_t* panels, const float* scale, int64_t n, int64_t k,
                 const PackedLayout& layout, float* w);

}  // namespace vitrine::kernels
