#pragma once

#include <torch/types.h>

namespace vitrine {

/// The matrix with all its singular values brought near 1 (between 0.7 and 1.2): (M, N) -> (M, N).
/// Five turns of the Newton-Schulz iteration of the Muon optimizer (Jordan et al., 2024).
torch::Tensor nearly_orthogonal(const torch::Tensor& matrix);

}  // namespace vitrine
