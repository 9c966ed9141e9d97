#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// Rows of n numbers and what LayerNorm multiplies and adds: y = (x - mean) * inverse * scale +
/// shift, where `inverse` is 1 / sqrt(variance + eps).
template <typename T>
struct NormRows {
  const T* x;
  const T* scale;
  int64_t rows, n;
  T* mean;     // one per row
  T* inverse;  // one per row
};

/// Fills y, mean and inverse.
void layer_norm(const NormRows<float>& rows, const float* shift, float eps, float* y);
void layer_norm(const NormRows<double>& rows, const double* shift, double eps, double* y);

/// Fills dx; adds to d_scale and d_shift, n numbers each.
void layer_norm_backward(const NormRows<float>& rows, const float* dy, float* dx, float* d_scale,
                         float* d_shift);
void layer_norm_backward(const NormRows<double>& rows, const double* dy, double* dx,
                         double* d_scale, double* d_shift);

}  // namespace vitrine::kernels
