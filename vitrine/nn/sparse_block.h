#pragma once

#include <torch/torch.h>

#include <array>
#include <memory>
#include <vector>

#include "vitrine/core/attention_pattern.h"
#include "vitrine/nn/block.h"
#include "vitrine/nn/feed_forward.h"

namespace vitrine {

struct SparseAttentionConfig {
  int64_t dim = 256;
  int64_t key_width = 128;                   // of queries and keys, all heads together
  std::vector<AttentionPattern> patterns{};  // one per head
  int64_t tokens = 0;                        // of a sequence; only generation must know

  /// Neighbouring heads that follow the same pattern.
  struct Group {
    int64_t first, count;
    AttentionPattern pattern;
  };

  int64_t heads() const { return static_cast<int64_t>(patterns.size()); }
  std::vector<Group> groups() const;
  void validate() const;
};

/// Multi-head self-attention in which each head follows its own pattern: (B, T, C) -> (B, T, C).
class SparseAttentionImpl : public torch::nn::Module {
 public:
  explicit SparseAttentionImpl(const SparseAttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x);
  /// As those of a block (`BlockImpl`). Keys and values are kept only while the patterns of their
  /// heads may still ask for them.
  std::unique_ptr<BlockCache> make_cache(int64_t batch) const;
  torch::Tensor step(const torch::Tensor& x, BlockCache& cache);
  /// The position of the token that is generated next, and one further from then on.
  int64_t next_position(BlockCache& cache) const;

  const SparseAttentionConfig config;
  Linear qkv{nullptr}, proj{nullptr};

 private:
  /// qkv(x), x (..., C), as queries, keys and values: (..., H, width) each.
  std::array<torch::Tensor, 3> project(const torch::Tensor& x);
};
TORCH_MODULE(SparseAttention);

struct SparseBlockConfig {
  SparseAttentionConfig attention{};
  int64_t hidden = 512;
  double dropout = 0;  // where a residual is added, nowhere else
};

/// a = drop(attention(norm(x))), b = drop(feed-forward(norm(x + a))), out = x + a + b.
class SparseBlockImpl : public BlockImpl {
 public:
  explicit SparseBlockImpl(const SparseBlockConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;
  std::unique_ptr<BlockCache> make_cache(int64_t batch) const override;
  torch::Tensor step(const torch::Tensor& x, BlockCache& cache) override;

  const SparseBlockConfig config;
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  SparseAttention attn{nullptr};
  FeedForward mlp{nullptr};

 private:
  /// The block around `attend`, its attention over all tokens or over the next one.
  template <typename Attend>
  torch::Tensor around(const torch::Tensor& x, const Attend& attend);
};
TORCH_MODULE(SparseBlock);

}  // namespace vitrine
