#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// out[j * out_stride + i] = in[i * in_stride + j] for i < rows and j < columns.
void transpose_words(const int32_t* in, int64_t in_stride, int64_t rows, int64_t columns,
                     int32_t* out, int64_t out_stride);

}  // namespace vitrine::kernels
