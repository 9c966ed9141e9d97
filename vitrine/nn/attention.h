#pragma once

#include <torch/torch.h>

namespace vitrine {

struct AttentionConfig {
  int64_t dim = 64;
  int64_t heads = 4;
  bool qkv_bias = true;
  double dropout = 0;            // after the output projection
  double attention_dropout = 0;  // on the attention weights

  void validate() const;
};

/// Multi-head self-attention: (B, T, C) -> (B, T, C).
class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(const AttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const AttentionConfig config;
  torch::nn::Linear qkv{nullptr}, proj{nullptr};
};
TORCH_MODULE(Attention);

}  // namespace vitrine
