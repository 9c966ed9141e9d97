#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/models/model.h"

namespace vitrine {

/// How much each patch reaches the output through all layers: Abnar & Zuidema, "Quantifying
/// Attention Flow in Transformers" (2020). Each layer's (H, T, T) weights are averaged over the
/// heads, mixed half and half with the identity (the residual) and row-normalised; the product of
/// all layers, seen from the class token (or, without one, averaged over the tokens), is
/// (rows, columns).
torch::Tensor attention_rollout(const std::vector<torch::Tensor>& layers, const TokenGrid& grid);

/// What each head looks at: its weights seen from the class token (or, without one, averaged over
/// the tokens), (H, T, T) -> (H, rows, columns).
torch::Tensor head_maps(const torch::Tensor& layer, const TokenGrid& grid);

/// The cosine similarity of every patch's position with every other's: (1, T, C) -> (P, P) for
/// P = rows * columns patches.
torch::Tensor position_similarity(const torch::Tensor& table, const TokenGrid& grid);

}  // namespace vitrine
