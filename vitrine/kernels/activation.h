#pragma once

#include <cstdint>

#include "vitrine/core/activation.h"

// Activation functions of n numbers; GELU is within 3e-7 of the exact one, relative to x.
namespace vitrine::kernels {

/// y = f(x). y may be x.
void activate(Activation f, const float* x, int64_t n, float* y);

/// dx = dy f'(x). dx may be dy.
void activation_backward(Activation f, const float* x, const float* dy, int64_t n, float* dx);

/// y = f(x) and dx = dx f'(x) at once; the second for x in bf16, two numbers to a word.
void activate_with_backward(Activation f, const float* x, int64_t n, float* y, float* dx);
void bf16_activate_with_backward(Activation f, const int32_t* x, int64_t n, float* y, float* dx);

}  // namespace vitrine::kernels
