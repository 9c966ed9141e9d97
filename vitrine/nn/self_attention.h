#pragma once

#include <torch/torch.h>

#include <memory>
#include <string_view>

#include "vitrine/nn/block.h"
#include "vitrine/nn/linear.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

struct AttentionConfig {
  int64_t dim = 64;
  int64_t heads = 4;
  bool qkv_bias = true;
  bool proj_bias = true;
  double dropout = 0;                 // after the output projection
  double attention_dropout = 0;       // on the attention weights
  bool causal = false;                // a token sees itself and those before it
  int64_t max_relative_distance = 0;  // largest distance with a learned bias per head; 0 = no bias
  TokenGrid grid{};                   // where the tokens lie; for sequences it need not be set

  void validate() const;
  /// Throws, in the name of `who`, if something is set that needs the scores of all pairs.
  void refuse_relative(std::string_view who) const;
};

/// What every kind of multi-head self-attention has: (B, T, C) -> (B, T, C).
class SelfAttentionImpl : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;

  /// As those of a block (`BlockImpl`). Kinds of attention that cannot generate throw.
  virtual std::unique_ptr<BlockCache> make_cache(int64_t batch) const;
  virtual torch::Tensor step(const torch::Tensor& x, BlockCache& cache);

  const AttentionConfig config;
  Linear qkv{nullptr}, proj{nullptr};

 protected:
  /// `qkv` makes `parts` vectors of each token: query, key and value.
  explicit SelfAttentionImpl(const AttentionConfig& c, int64_t parts = 3);

  /// For layers that never hold the weights of all pairs. The parts of qkv(x), each (B, H, T, D);
  /// throws while the weights are to be captured.
  std::vector<torch::Tensor> project(const torch::Tensor& x, std::string_view who);
  /// What the heads found, (B, H, T, D), through the output projection: (B, T, C).
  torch::Tensor merge(const torch::Tensor& mixed);
};
TORCH_MODULE(SelfAttention);

}  // namespace vitrine
