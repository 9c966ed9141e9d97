#pragma once

#include <cstdint>

// Plain arithmetic on rows of n numbers.
namespace vitrine::kernels {

/// The sum of x[i] * y[i].
float dot_product(const float* x, const float* y, int64_t n);

/// row[i] *= factor.
void scale_row(float* row, int64_t n, float factor);

/// out[i] = x[i] + y[i]; out may be either.
void add_row(const float* x, const float* y, int64_t n, float* out);

}  // namespace vitrine::kernels
