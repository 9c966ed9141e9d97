#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// Rows of n numbers and what LayerNorm multiplies and adds: y = (x - mean) * inv_std * gamma +
/// beta, where `inv_std` is 1 / sqrt(variance + eps).
template <typename T>
struct NormRows {
  const T* x;
  const T* gamma;
  int64_t rows, n;
  T* mean;     // one per row
  T* inv_std;  // one per row
};

/// Fills y, mean and inv_std.
void layer_norm(const NormRows<float>& rows, const float* beta, float eps, float* y);
void layer_norm(const NormRows<double>& rows, const double* beta, double eps, double* y);

/// Fills dx; adds to d_gamma and d_beta, n numbers each.
void layer_norm_backward(const NormRows<float>& rows, const float* dy, float* dx, float* d_gamma,
                         float* d_beta);
void layer_norm_backward(const NormRows<double>& rows, const double* dy, double* dx,
                         double* d_gamma, double* d_beta);

}  // namespace vitrine::kernels
