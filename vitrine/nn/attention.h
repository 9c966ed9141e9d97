#pragma once

#include "vitrine/nn/self_attention.h"

namespace vitrine {

/// What is added to the scores of all pairs of tokens.
struct ScoreBias {
  torch::Tensor learned{};  // (H, T, T); undefined: none
  bool causal = false;      // -infinity where the key is later than the query

  /// Both as one tensor, for tokens (B, T, 3, H, D); undefined if nothing is added.
  torch::Tensor whole(const torch::Tensor& packed) const;
};

/// Softmax attention over all pairs of tokens that lie on `grid`, from packed projections:
/// (B, T, 3, H, D) -> (B, T, H * D). `dropout` and `products` are as in ops/attention.h. The
/// weights are recorded if an `AttentionCapture` asks for them.
torch::Tensor recorded_attention(const torch::Tensor& packed, const TokenGrid& grid, double dropout,
                                 Precision products, const ScoreBias& bias = {});

/// Softmax attention over all pairs of tokens: (B, T, C) -> (B, T, C).
class AttentionImpl : public SelfAttentionImpl {
 public:
  explicit AttentionImpl(const AttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;
  std::unique_ptr<BlockCache> make_cache(int64_t batch) const override;
  torch::Tensor step(const torch::Tensor& x, BlockCache& cache) override;

  torch::Tensor relative_bias;  // (H, 2 * R + 1), by distance from -R to R = max_relative_distance

 private:
  /// What each head adds to the scores of keys at these distances, int64: (H, ...).
  torch::Tensor distance_bias(const torch::Tensor& distance) const;
  ScoreBias score_bias(int64_t T) const;
  TokenGrid grid_of(int64_t T) const;
};
TORCH_MODULE(Attention);

}  // namespace vitrine
