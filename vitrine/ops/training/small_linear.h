#pragma once

#include <torch/types.h>

namespace vitrine {

/// A linear layer that learns on the CPU and is so small that calling torch's operators costs more
/// than computing: x (..., K), weight (N, K) and bias (N), which may be undefined, all in fp32 ->
/// (..., N). By one thread.
torch::Tensor small_linear(const torch::Tensor& x, const torch::Tensor& weight,
                           const torch::Tensor& bias);

}  // namespace vitrine
