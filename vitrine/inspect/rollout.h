#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/inspect/explain_config.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {

/// How much each patch reaches the answer through all layers: Abnar & Zuidema, "Quantifying
/// Attention Flow in Transformers" (2020). Each layer's weights are averaged over the heads (or
/// their greatest or least is taken), the smallest discarded if so configured, mixed half and half
/// with the identity (the residual) and row-normalised; the product of all layers, weighed by
/// `readout` (B, T) as the answer reads the last layer's tokens, is (B, rows, columns) on the first
/// layer's grid. Where keys are fewer than queries, a key's weight is spread over the queries'
/// cells that it covers; where a later layer is coarser, the cells that it covers are averaged.
torch::Tensor attention_rollout(const std::vector<AttentionRecord>& layers,
                                const torch::Tensor& readout, const RolloutConfig& config = {});

/// How much each patch counts for one class: Chefer, Gur & Wolf, "Generic Attention-model
/// Explainability" (2021). With the gradient G of the class's logit with respect to the weights A
/// of a layer, R <- R + mean over the heads of (G * A)+ times R, from R = I, layer by layer. The
/// rows of R are weighed by `readout` (B, T); the result is (B, rows, columns) on the first layer's
/// grid, and grids that change are treated as in rollout. `gradients` are shaped like the weights.
torch::Tensor attention_relevance(const std::vector<AttentionRecord>& layers,
                                  const std::vector<torch::Tensor>& gradients,
                                  const torch::Tensor& readout);

/// Values per token, (..., T), as a map without the tokens that have no place: (..., rows,
/// columns).
torch::Tensor as_map(const torch::Tensor& per_token, const TokenGrid& grid);

/// What each head looks at: its weights seen from the class token (or, without one, averaged over
/// the tokens), (B, H, rows, columns) on the grid of the keys.
torch::Tensor head_maps(const AttentionRecord& layer);

/// How evenly each head spreads its weights: their entropy over the keys divided by the logarithm
/// of the keys' number, so 1 is uniform and 0 a single key. Of the class token or, without one, the
/// mean over the queries: (B, H).
torch::Tensor head_entropy(const AttentionRecord& layer);

/// How far each head looks: the distance between the centres of query and key in pixels of an image
/// with this side, averaged by the attention weights between tokens that have a position, then over
/// the queries: (B, H).
torch::Tensor head_distance(const AttentionRecord& layer, int64_t image);
/// What `head_distance` is for uniform attention.
double uniform_distance(const TokenGrid& queries, const TokenGrid& keys, int64_t image);

/// The cosine similarity of every patch's position with every other's: (1, T, C) -> (P, P) for
/// P = rows * columns patches.
torch::Tensor position_similarity(const torch::Tensor& table, const TokenGrid& grid);

}  // namespace vitrine
