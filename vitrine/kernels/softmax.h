#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// x = softmax(x) over each of `rows` rows of n numbers.
void softmax_rows(float* x, int64_t rows, int64_t n);
void softmax_rows(double* x, int64_t rows, int64_t n);

/// dx = y * (dy - sum(y * dy)) over each row, the gradient of softmax; dx may be dy.
void softmax_rows_backward(const float* y, const float* dy, float* dx, int64_t rows, int64_t n);
void softmax_rows_backward(const double* y, const double* dy, double* dx, int64_t rows, int64_t n);

}  // namespace vitrine::kernels
