#include "vitrine/kernels/bf16_words.h"

#include <algorithm>

namespace vitrine::kernels {

void interleave_rows(const uint16_t* __restrict even, const uint16_t* __restrict odd, int64_t n,
                     int32_t* __restrict words) {
  if (odd == nullptr) {
    std::copy_n(even, n, words);
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    words[i] = static_cast<int32_t>(even[i] | static_cast<uint32_t>(odd[i]) << 16);
}

void transpose_words(const int32_t* in, int64_t in_stride, int64_t rows, int64_t columns,
                     int32_t* out, int64_t out_stride) {
  constexpr int64_t kSide = 16;  // a cache line of words each way
  for (int64_t i = 0; i < rows; i += kSide)
    for (int64_t j = 0; j < columns; j += kSide) {
      const auto end_i = std::min(rows, i + kSide), end_j = std::min(columns, j + kSide);
      for (int64_t b = j; b < end_j; ++b)
        for (int64_t a = i; a < end_i; ++a) out[b * out_stride + a] = in[a * in_stride + b];
    }
}

}  // namespace vitrine::kernels
