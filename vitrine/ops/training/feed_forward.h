#pragma once

#include <torch/types.h>

#include "vitrine/core/activation.h"
#include "vitrine/core/precision.h"

namespace vitrine {

/// Two linear layers; biases may be undefined.
struct FeedForwardWeights {
  torch::Tensor weight1, bias1;  // (hidden, C) and (hidden)
  torch::Tensor weight2, bias2;  // (N, hidden) and (N)
};

/// Both, with an activation function and dropout of probability `p` between them, where they learn
/// on the CPU: x (..., C) -> (..., N), all in fp32. The same as `training_linear` twice, but that
/// the numbers between the layers stay in the cache; in bf16 the backward pass computes the
/// function again at its rounded input.
torch::Tensor training_feed_forward(const torch::Tensor& x, const FeedForwardWeights& weights,
                                    Activation activation, double p, Precision precision);

}  // namespace vitrine
