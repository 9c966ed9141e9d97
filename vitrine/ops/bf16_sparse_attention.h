#pragma once

#include <torch/types.h>

#include "vitrine/core/attention_pattern.h"

namespace vitrine {

/// `sparse_attention` that learns in bf16 on the CPU: the factors of every product, forward and
/// backward, are rounded to bf16; sums, softmax, results and gradients are in fp32, and so are q, k
/// and v, which are kept in bf16 for the backward pass.
torch::Tensor bf16_sparse_attention(const torch::Tensor& q, const torch::Tensor& k,
                                    const torch::Tensor& v, const AttentionPattern& pattern,
                                    double dropout = 0);

}  // namespace vitrine
