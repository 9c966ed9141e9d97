#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/nn/attention_capture.h"

namespace vitrine {

/// How much each patch reaches the answer through all layers: Abnar & Zuidema, "Quantifying
/// Attention Flow in Transformers" (2020). Each layer's weights are averaged over the heads, mixed
/// half and half with the identity (the residual) and row-normalised; the product of all layers,
/// weighed by `readout` (B, T) as the answer reads the last layer's tokens, is (B, rows, columns)
/// on the first layer's grid. Where keys are fewer than queries, a key's weight is spread over the
/// queries' cells that it covers; where a later layer is coarser, the cells that it covers are
/// averaged.
torch::Tensor attention_rollout(const std::vector<AttentionRecord>& layers,
                                const torch::Tensor& readout);

/// What each head looks at: its weights seen from the class token (or, without one, averaged over
/// the tokens), (B, H, rows, columns) on the grid of the keys.
torch::Tensor head_maps(const AttentionRecord& layer);

/// The cosine similarity of every patch's position with every other's: (1, T, C) -> (P, P) for
/// P = rows * columns patches.
torch::Tensor position_similarity(const torch::Tensor& table, const TokenGrid& grid);

}  // namespace vitrine
