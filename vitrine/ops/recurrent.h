#pragma once

#include <torch/types.h>

#include "vitrine/core/recurrent_cell.h"

namespace vitrine {

/// The parameters of a recurrent layer, as torch has them: of G gates, one behind the other.
struct RecurrentWeights {
  torch::Tensor input_weight;  // (G H, I)
  torch::Tensor state_weight;  // (G H, H)
  torch::Tensor input_bias;    // (G H)
  torch::Tensor state_bias;    // (G H)
};

/// The state of a recurrent layer behind the last of T steps, from zeros on: x (B, T, I) -> (B, H).
torch::Tensor last_state(const torch::Tensor& x, const RecurrentWeights& weights, Cell cell);

/// The same by plain torch operations, step by step.
torch::Tensor last_state_reference(const torch::Tensor& x, const RecurrentWeights& weights,
                                   Cell cell);

}  // namespace vitrine
