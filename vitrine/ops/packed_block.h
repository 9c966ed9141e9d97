#pragma once

#include <torch/types.h>

#include "vitrine/core/activation.h"
#include "vitrine/ops/packed_linear.h"

namespace vitrine {

/// The parameters of a pre-norm transformer block whose weights are packed; biases of layers may be
/// undefined.
struct PackedBlock {
  torch::Tensor gamma1, beta1;
  const PackedWeight *qkv, *proj;
  torch::Tensor qkv_bias, proj_bias;
  torch::Tensor gamma2, beta2;
  const PackedWeight *fc1, *fc2;
  torch::Tensor bias1, bias2;

  int64_t heads = 1, hidden = 1;
  Activation activation = Activation::Gelu;
  double norm_eps = 1e-6;
  bool norm_stream = false;  // the second norm acts on the residual stream
};

/// Whether the threads can share B sequences of T tokens about evenly, each taking whole sequences.
bool shares_sequences(int64_t B, int64_t T);

/// x (B, T, C) in fp32 -> (B, T, C), without gradients: a thread takes a few sequences, or a part of
/// one, through the whole block, so that what lies between stays in its cache. A token's result is
/// that of the layers one after the other but for rounding.
torch::Tensor packed_block(const torch::Tensor& x, const PackedBlock& block);

}  // namespace vitrine
