#pragma once

// Wang et al., "Linformer: Self-Attention with Linear Complexity" (2020). Faithful: keys and values
// are projected along the tokens to a fixed length, by two learned matrices that a layer's heads
// share (the paper's E and F).

#include "vitrine/nn/self_attention.h"

namespace vitrine {

/// softmax(Q (E K)^T / sqrt(D)) F V: q, k, v (B, H, T, D), E and F (K, T) -> (B, H, T, D).
/// `dropout` is applied to the weights, (B, H, T, K).
torch::Tensor linformer_attention(const torch::Tensor& q, const torch::Tensor& k,
                                  const torch::Tensor& v, const torch::Tensor& E,
                                  const torch::Tensor& F, double dropout = 0);

struct LinformerAttentionConfig {
  AttentionConfig attention{};
  int64_t tokens = 0;   // of every input
  int64_t length = 64;  // to which keys and values are projected

  void validate() const;
};

/// Attention to `length` mixtures of the tokens: (B, T, C) -> (B, T, C).
class LinformerAttentionImpl : public SelfAttentionImpl {
 public:
  explicit LinformerAttentionImpl(const LinformerAttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;

  const int64_t tokens;
  Linear key_proj{nullptr}, value_proj{nullptr};  // T -> length
};
TORCH_MODULE(LinformerAttention);

}  // namespace vitrine
