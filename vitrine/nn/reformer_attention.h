#pragma once

// Kitaev et al., "Reformer: The Efficient Transformer" (2020), its attention alone. Faithful: one
// vector is query and, at length 1, key; tokens are sorted by the hash of random rotations, see
// their chunk and the one before, and rounds are joined without counting a pair twice (the paper's
// appendix). Not as there: the rotations are drawn once and kept with the weights; not causal,
// because later tokens decide where chunks begin and so what an earlier one sees.

#include "vitrine/nn/self_attention.h"

namespace vitrine {

/// What keeps a token from itself, unless it sees no other.
constexpr double kSelfPenalty = 1e5;

/// The bucket of each token: (B, H, T, D) and rotations (R, D, buckets / 2) -> (B, H, R, T).
torch::Tensor lsh_buckets(const torch::Tensor& qk, const torch::Tensor& rotations);

/// softmax(Q K^T / sqrt(D)) V, K = Q / |Q|, over the pairs that share a chunk of `chunk` tokens, or
/// have neighbouring ones, in any of the R rounds: qk, v (B, H, T, D) -> (B, H, T, D).
/// Memory grows with R * T * chunk. `dropout` is applied to the weights of each round.
torch::Tensor reformer_attention(const torch::Tensor& qk, const torch::Tensor& v,
                                 const torch::Tensor& rotations, int64_t chunk, double dropout = 0);

/// Rotations for `rounds` rounds over `tokens` tokens of this width: (R, D, buckets / 2).
torch::Tensor lsh_rotations(int64_t rounds, int64_t width, int64_t tokens, int64_t bucket);

struct ReformerAttentionConfig {
  AttentionConfig attention{};
  int64_t tokens = 0;   // of every input; decides the number of buckets
  int64_t bucket = 32;  // tokens in a bucket, on average, and in a chunk
  int64_t rounds = 4;

  void validate() const;
};

/// Attention among tokens that hash alike: (B, T, C) -> (B, T, C). `qkv` makes two vectors of each
/// token, the shared one and the value.
class ReformerAttentionImpl : public SelfAttentionImpl {
 public:
  explicit ReformerAttentionImpl(const ReformerAttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;

  const int64_t bucket;
  torch::Tensor rotations;  // (R, D, buckets / 2), a buffer
};
TORCH_MODULE(ReformerAttention);

}  // namespace vitrine
