#pragma once

#include <torch/types.h>

#include "vitrine/core/attention_pattern.h"

namespace vitrine {

/// softmax(Q K^T / sqrt(D)) V over the pairs of tokens that the pattern allows:
/// q and k (B, T, H, D), v (B, T, H, E) -> (B, T, H * E). Time and memory follow the number of
/// those pairs. A token that sees none gets 0. `dropout` is applied to the attention weights.
torch::Tensor sparse_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, const AttentionPattern& pattern,
                               double dropout = 0);

/// The same by plain operators on blocks of queries and keys: the path for devices without kernels.
torch::Tensor blockwise_sparse_attention(const torch::Tensor& q, const torch::Tensor& k,
                                         const torch::Tensor& v, const AttentionPattern& pattern,
                                         double dropout = 0);

/// The same by a mask over all pairs: the definition.
torch::Tensor sparse_attention_reference(const torch::Tensor& q, const torch::Tensor& k,
                                         const torch::Tensor& v, const AttentionPattern& pattern,
                                         double dropout = 0);

/// Which pairs the pattern allows: (T, T) bool.
torch::Tensor sparse_attention_mask(const AttentionPattern& pattern, int64_t tokens);

}  // namespace vitrine
