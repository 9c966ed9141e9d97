#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// x = softmax(scale x) over each of `rows` rows of n numbers, where scale > 0.
void softmax_rows(float* x, int64_t rows, int64_t n, float scale = 1);
void softmax_rows(double* x, int64_t rows, int64_t n, double scale = 1);

/// dx = scale y (dy - sum(y dy)) over each row, the gradient of that; dx may be dy.
void softmax_rows_backward(const float* y, const float* dy, float* dx, int64_t rows, int64_t n,
                           float scale = 1);
void softmax_rows_backward(const double* y, const double* dy, double* dx, int64_t rows, int64_t n,
                           double scale = 1);

}  // namespace vitrine::kernels
