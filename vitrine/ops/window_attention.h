#pragma once

#include <torch/types.h>

#include "vitrine/core/precision.h"

namespace vitrine {

/// Tokens that attend to each other in windows: W windows of N tokens each, W * N = T.
struct AttentionWindows {
  torch::Tensor order{};    // int64 (T): the tokens, window by window; undefined: they lie so
  torch::Tensor inverse{};  // the way back
  torch::Tensor bias{};     // (H, N, N), added to the scores
  torch::Tensor mask{};     // (W, N, N), added to the scores, a constant; undefined: none
};

/// softmax(scale Q K^T + bias + mask) V inside each window: qkv (B, T, 3, H, D) -> (B, T, H * D).
/// `dropout` is applied to the attention weights. Unless `products` is fp32, factors are rounded to
/// bf16 where the processor gains by it.
torch::Tensor window_attention(const torch::Tensor& qkv, const AttentionWindows& windows,
                               double scale, double dropout = 0,
                               Precision products = Precision::Float32);

/// The attention weights alone: (B, W, H, N, N).
torch::Tensor window_attention_weights(const torch::Tensor& qkv, const AttentionWindows& windows,
                                       double scale);

/// What given weights (B, W, H, N, N) make of the values of qkv: (B, T, H * D).
torch::Tensor weigh_window_values(const torch::Tensor& weights, const torch::Tensor& qkv,
                                  const AttentionWindows& windows, double dropout = 0);

}  // namespace vitrine
