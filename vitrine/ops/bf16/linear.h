#pragma once

#include <torch/types.h>

namespace vitrine {

/// A linear layer that learns in bf16 on the CPU: x (..., K), weight (N, K) and bias (N), which may
/// be undefined, all in fp32 -> (..., N). The factors of every product, forward and backward, are
/// rounded to bf16; sums, results and gradients are in fp32. The input is kept in bf16 for the
/// backward pass.
torch::Tensor bf16_linear(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias);

}  // namespace vitrine
