#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// x = softmax(x) over one row of n numbers.
void softmax_row(float* x, int64_t n);
void softmax_row(double* x, int64_t n);

/// dx = y * (dy - sum(y * dy)) over one row, the gradient of softmax; dx may be dy.
void softmax_row_backward(const float* y, const float* dy, float* dx, int64_t n);
void softmax_row_backward(const double* y, const double* dy, double* dx, int64_t n);

}  // namespace vitrine::kernels
