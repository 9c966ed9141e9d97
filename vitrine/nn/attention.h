#pragma once

#include <torch/torch.h>

namespace vitrine {

struct AttentionConfig {
  int64_t dim = 64;
  int64_t heads = 4;
  bool qkv_bias = true;
  double dropout = 0;            // after the output projection
  double attention_dropout = 0;  // on the attention weights
  bool causal = false;           // a token sees itself and those before it
  int64_t relative = 0;          // each head weighs distances up to this one; 0 = it knows none

  void validate() const;
};

/// Multi-head self-attention: (B, T, C) -> (B, T, C).
class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(const AttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const AttentionConfig config;
  torch::nn::Linear qkv{nullptr}, proj{nullptr};
  torch::Tensor relative_bias;  // (H, 2 * relative + 1), by distance from -relative to relative

 private:
  /// What is added to the scores: (H or 1, T, T); undefined if nothing is.
  torch::Tensor score_bias(int64_t T) const;
};
TORCH_MODULE(Attention);

}  // namespace vitrine
