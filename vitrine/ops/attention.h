#pragma once

#include <torch/types.h>

#include "vitrine/core/precision.h"

namespace vitrine {

/// Self-attention from packed projections, softmax(Q K^T / sqrt(D)) V:
/// qkv (B, T, 3, H, D) -> (B, T, H * D). `dropout` is applied to the attention weights. Unless
/// `products` is fp32, factors are rounded to bf16 where the processor gains by it. `causal`: no
/// token sees a later one.
torch::Tensor packed_attention(const torch::Tensor& qkv, double dropout = 0,
                               Precision products = Precision::Float32, bool causal = false);

/// The same by plain torch operations: the definition, and the path for devices without kernels.
torch::Tensor packed_attention_reference(const torch::Tensor& qkv, double dropout = 0,
                                         bool causal = false);

/// (1, T, T): -infinity where the key is later than the query, else 0.
torch::Tensor causal_bias(int64_t T, const torch::TensorOptions& options);

/// softmax(Q K^T / sqrt(D) + bias) V with `bias` (H or 1, T, T): -infinity hides a token.
torch::Tensor biased_attention(const torch::Tensor& qkv, const torch::Tensor& bias,
                               double dropout = 0);

/// The attention weights alone: qkv (B, T, 3, H, D) -> (B, H, T, T). An undefined `bias` is none.
torch::Tensor attention_weights(const torch::Tensor& qkv, const torch::Tensor& bias = {});

/// What given weights (B, H, T, T) make of the values of qkv (B, T, 3, H, D): (B, T, H * D).
torch::Tensor attend(const torch::Tensor& weights, const torch::Tensor& qkv, double dropout = 0);

}  // namespace vitrine
