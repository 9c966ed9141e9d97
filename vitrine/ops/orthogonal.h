#pragma once

#include <torch/types.h>

namespace vitrine {

/// The matrix with its singular values brought near 1 (0.7 to 1.2, unless they were below a
/// hundredth of the norm): (M, N) -> (M, N). Five turns of the Newton-Schulz iteration of the Muon
/// optimizer (Jordan et al., 2024).
torch::Tensor newton_schulz_orthogonalize(const torch::Tensor& matrix);

/// What that costs for a matrix of this size.
int64_t newton_schulz_multiply_adds(int64_t rows, int64_t columns);

}  // namespace vitrine
