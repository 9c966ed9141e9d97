#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/core/precision.h"
#include "vitrine/ops/training/feed_forward.h"

namespace vitrine {

/// The parameters of a transformer block; biases of layers may be undefined.
struct EncoderBlockWeights {
  torch::Tensor gamma1, beta1;           // (C), of the norm before attention
  torch::Tensor qkv_weight, qkv_bias;    // (3 C, C) and (3 C)
  torch::Tensor proj_weight, proj_bias;  // (C, C) and (C)
  torch::Tensor gamma2, beta2;           // (C), of the norm before the feed-forward network
  FeedForwardWeights mlp;                // C -> hidden -> C

  bool all_learn() const;
  /// Throws unless all of them fit rows of C numbers, in fp32 on the CPU.
  void check_fit(int64_t C) const;
};

struct EncoderBlockSettings {
  int64_t heads = 1;
  Activation activation = Activation::Gelu;
  double norm_eps = 1e-6;
  bool norm_stream = false;  // the second norm acts on the residual stream
  double dropout = 0;        // after each layer but that of queries, keys and values
  double attention_dropout = 0;
  double drop_path = 0;
};

/// The gradient of a block's input, and those of its parameters in the order of
/// `EncoderBlockWeights`, with one for every bias.
struct BlockGradients {
  torch::Tensor x;
  std::vector<torch::Tensor> parameters;
};

/// Whether a block of these sizes gains by being one operation: it is tiny, or the threads can
/// share B sequences of T tokens about evenly, each taking whole sequences.
bool suits_one_operation(torch::IntArrayRef sizes, int64_t hidden,
                         const EncoderBlockSettings& settings, Precision precision);

/// A pre-norm block that learns on the CPU, as one operation: x (B, T, C), all in fp32 -> (B, T,
/// C). h = x + attention(norm(x)), then h + feed_forward(norm(h)). The same as its layers one after
/// the other but for rounding, with the same dropout masks. A thread takes a few sequences through
/// the whole block, so that what lies between stays in its cache. Kept for the backward pass are
/// the residual stream, queries, keys, values, attention weights, what attention gave and what the
/// activation function got, in bf16 where products are; the rest is computed again.
torch::Tensor training_encoder_block(const torch::Tensor& x, const EncoderBlockWeights& weights,
                                     const EncoderBlockSettings& settings, Precision precision);

}  // namespace vitrine
