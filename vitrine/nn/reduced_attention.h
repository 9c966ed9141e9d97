#pragma once

#include <torch/torch.h>

#include "vitrine/nn/linear.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

struct ReducedAttentionConfig {
  int64_t dim = 64;
  int64_t heads = 1;
  int64_t reduction = 1;  // side of the square of tokens that becomes one key; 1 = none
  TokenGrid grid{};       // where the tokens lie; a prefix needs reduction 1
  double dropout = 0;     // after the output projection
  double attention_dropout = 0;

  void validate() const;
  /// Where keys and values lie.
  TokenGrid keys() const;
};

/// Spatial-reduction attention: Wang et al., "Pyramid Vision Transformer" (2021). Every token is a
/// query, but keys and values come from fewer tokens: a convolution whose kernel and stride are
/// `reduction`, and LayerNorm. (B, T, C) -> (B, T, C). Parameters have the names of the authors'.
class ReducedAttentionImpl : public torch::nn::Module {
 public:
  explicit ReducedAttentionImpl(const ReducedAttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const ReducedAttentionConfig config;
  Linear q{nullptr}, kv{nullptr}, proj{nullptr};
  torch::nn::Conv2d sr{nullptr};       // with a reduction only
  torch::nn::LayerNorm norm{nullptr};  // with a reduction only
};
TORCH_MODULE(ReducedAttention);

}  // namespace vitrine
