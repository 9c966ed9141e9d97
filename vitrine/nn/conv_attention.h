#pragma once

#include <torch/torch.h>

#include "vitrine/nn/linear.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

struct ConvAttentionConfig {
  int64_t dim = 64;
  int64_t heads = 1;
  int64_t kv_stride = 2;  // of the convolutions that make keys and values
  TokenGrid grid{};       // where the tokens lie; the convolutions leave a prefix out
  double dropout = 0;     // after the output projection
  double attention_dropout = 0;

  void validate() const;
  /// Where keys and values lie.
  TokenGrid keys() const;
};

/// A 3 x 3 depth-wise convolution and BatchNorm over the grid of tokens:
/// (B, C, S, S) -> (B, (S / stride)^2, C).
class ConvProjectionImpl : public torch::nn::Module {
 public:
  ConvProjectionImpl(int64_t dim, int64_t stride);
  torch::Tensor forward(const torch::Tensor& map);

  torch::nn::Conv2d conv{nullptr};
  torch::nn::BatchNorm2d bn{nullptr};
};
TORCH_MODULE(ConvProjection);

/// Attention with convolutional projections: Wu et al., "CvT" (2021). Queries, keys and values each
/// have a depth-wise convolution before their matrix, by whose stride keys and values become fewer.
/// Scores are divided by sqrt(C), not by that of a head. (B, T, C) -> (B, T, C). Parameters have
/// the names of the authors'.
class ConvAttentionImpl : public torch::nn::Module {
 public:
  explicit ConvAttentionImpl(const ConvAttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const ConvAttentionConfig config;
  ConvProjection conv_proj_q{nullptr}, conv_proj_k{nullptr}, conv_proj_v{nullptr};
  Linear proj_q{nullptr}, proj_k{nullptr}, proj_v{nullptr}, proj{nullptr};
};
TORCH_MODULE(ConvAttention);

}  // namespace vitrine
