#pragma once

#include <torch/types.h>

namespace vitrine {

/// x P(X < x) for a normal X, the exact GELU, of each number.
torch::Tensor gelu(const torch::Tensor& x);

}  // namespace vitrine
