#pragma once

#include <torch/torch.h>

#include "vitrine/core/precision.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

struct DotProductAttentionConfig {
  TokenGrid queries, keys;  // they differ where keys are reduced
  double scale = 1;         // of the scores, usually 1 / sqrt(D)
  double dropout = 0;       // on the attention weights
  Precision products = Precision::Float32;
};

/// softmax(scale Q K^T) V with queries and keys of their own: q (B, H, Tq, D), k (B, H, Tk, D),
/// v (B, H, Tk, E) -> (B, Tq, H * E). The weights are recorded if an `AttentionCapture` asks for
/// them.
torch::Tensor dot_product_attention(const torch::Tensor& q, const torch::Tensor& k,
                                    const torch::Tensor& v, const DotProductAttentionConfig& c);

}  // namespace vitrine
