#pragma once

#include <torch/types.h>

#include "vitrine/core/precision.h"

namespace vitrine {

/// softmax(scale Q K^T) V with queries and keys of their own: q (B, H, Tq, D), k (B, H, Tk, D),
/// v (B, H, Tk, E) -> (B, Tq, H * E). `dropout` is applied to the attention weights. Unless
/// `products` is fp32, factors are rounded to bf16 where the processor gains by it.
torch::Tensor scaled_dot_product_attention(const torch::Tensor& q, const torch::Tensor& k,
                                           const torch::Tensor& v, double scale, double dropout = 0,
                                           Precision products = Precision::Float32);

/// The attention weights alone, (B, H, Tq, Tk).
torch::Tensor scaled_dot_product_weights(const torch::Tensor& q, const torch::Tensor& k,
                                         double scale);

/// What given weights (B, H, Tq, Tk) make of the values (B, H, Tk, E): (B, Tq, H * E).
torch::Tensor weigh_values(const torch::Tensor& weights, const torch::Tensor& v,
                           double dropout = 0);

}  // namespace vitrine
