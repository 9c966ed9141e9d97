#pragma once

#include <torch/types.h>

#include "vitrine/core/activation.h"

namespace vitrine {

/// The activation function of each number; GELU is the exact one, x P(X < x) for a normal X.
torch::Tensor activate(const torch::Tensor& x, Activation activation);

/// The same by plain torch operations.
torch::Tensor activate_reference(const torch::Tensor& x, Activation activation);

}  // namespace vitrine
