#pragma once

#include <torch/types.h>

namespace vitrine {

/// Two linear layers that learn in bf16 on the CPU, with weights and biases as of `bf16_linear`.
struct FeedForwardWeights {
  torch::Tensor weight1, bias1;  // (hidden, C) and (hidden)
  torch::Tensor weight2, bias2;  // (N, hidden) and (N)
};

/// Both with GELU and dropout of probability `p` between them: x (..., C) -> (..., N), all in fp32.
/// The same as one after the other, but that the numbers between them stay in the cache and are
/// never written in fp32: the backward pass takes the slope of GELU at its input rounded to bf16.
torch::Tensor bf16_feed_forward(const torch::Tensor& x, const FeedForwardWeights& weights,
                                double p = 0);

}  // namespace vitrine
