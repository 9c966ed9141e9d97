#pragma once

#include <torch/types.h>

#include "vitrine/core/precision.h"

namespace vitrine {

/// A linear layer that learns on the CPU: x (..., K), weight (N, K) and bias (N), which may be
/// undefined, all in fp32 -> (..., N). In bf16 the factors of every product, forward and backward,
/// are rounded; sums, results and gradients are in fp32, and the input is kept in bf16 for the
/// backward pass. The results do not depend on the number of threads.
torch::Tensor training_linear(const torch::Tensor& x, const torch::Tensor& weight,
                              const torch::Tensor& bias, Precision precision);

}  // namespace vitrine
