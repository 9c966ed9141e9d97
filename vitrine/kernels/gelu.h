#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// y = GELU(x) for n numbers, within 3e-7 of the exact one, relative to x.
void gelu(const float* x, int64_t n, float* y);

/// dx = dy GELU'(x).
void gelu_backward(const float* x, const float* dy, int64_t n, float* dx);

}  // namespace vitrine::kernels
