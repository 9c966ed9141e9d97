#pragma once

// Choromanski et al., "Rethinking Attention with Performers" (2021). Faithful: FAVOR+, positive
// orthogonal random features of the softmax kernel, bidirectional and causal. Not as there:
// features are drawn once and kept with the weights; the maxima that keep exponents small are taken
// per feature, so that they cancel exactly and no constant has to be added to the features.

#include "vitrine/nn/self_attention.h"

namespace vitrine {

/// `count` random directions, (count, width), each normal by itself; every `width` of them in a row
/// stand at right angles to each other.
torch::Tensor orthogonal_features(int64_t count, int64_t width);

/// softmax(Q K^T / sqrt(D)) V with exp(q k / sqrt(D)) estimated by the inner product of
/// exp(w q' - |q'|^2 / 2) and exp(w k' - |k'|^2 / 2), where x' = x / D^(1/4) and w runs over
/// `features` (M, D): q, k, v (B, H, T, D) -> (B, H, T, D). Memory grows with T * M.
torch::Tensor performer_attention(const torch::Tensor& q, const torch::Tensor& k,
                                  const torch::Tensor& v, const torch::Tensor& features,
                                  bool causal = false);

struct PerformerAttentionConfig {
  AttentionConfig attention{};
  int64_t features = 256;

  void validate() const;
};

/// Softmax attention estimated by random features: (B, T, C) -> (B, T, C).
class PerformerAttentionImpl : public SelfAttentionImpl {
 public:
  explicit PerformerAttentionImpl(const PerformerAttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;
  std::unique_ptr<BlockCache> make_cache(int64_t batch) const override;
  torch::Tensor step(const torch::Tensor& x, BlockCache& cache) override;

  torch::Tensor features;  // (M, D), a buffer
};
TORCH_MODULE(PerformerAttention);

}  // namespace vitrine
