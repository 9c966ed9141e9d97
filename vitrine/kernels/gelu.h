#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// y = GELU(x) for n numbers, within 3e-7 of the exact one, relative to x. y may be x.
void gelu(const float* x, int64_t n, float* y);

/// dx = dy GELU'(x). dx may be dy.
void gelu_backward(const float* x, const float* dy, int64_t n, float* dx);
/// dx = dx GELU'(x), where x is in bf16, two numbers to a word.
void bf16_gelu_backward(const int32_t* x, int64_t n, float* dx);

}  // namespace vitrine::kernels
