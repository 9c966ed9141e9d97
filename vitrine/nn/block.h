#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "vitrine/core/error.h"

namespace vitrine {

/// What a block keeps of the tokens so far while a sequence is generated token by token.
class BlockCache {
 public:
  virtual ~BlockCache() = default;
  /// The memory that it takes.
  virtual int64_t bytes() const = 0;

  /// This cache, which the layer that asks has made itself.
  template <typename Cache>
  Cache& as() {
    auto* own = dynamic_cast<Cache*>(this);
    TORCH_INTERNAL_ASSERT(own != nullptr, "the cache is of another layer");
    return *own;
  }
};

/// One of the layers that a transformer stacks: (B, T, C) -> (B, T, C).
class BlockImpl : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;

  /// An empty cache for `batch` sequences; throws unless the block is causal and can generate.
  virtual std::unique_ptr<BlockCache> make_cache(int64_t batch) const;
  /// The next token of each sequence, (B, C) -> (B, C): equals the last token of `forward` over all
  /// tokens so far, in evaluation mode.
  virtual torch::Tensor step(const torch::Tensor& x, BlockCache& cache);
};

/// The stochastic depth of block `index` out of `depth`, which grows linearly from 0 to `rate`.
inline double drop_path_of(double rate, int64_t index, int64_t depth) {
  return depth > 1 ? rate * static_cast<double>(index) / static_cast<double>(depth - 1) : 0;
}

/// While it lives, only the first `count` blocks that lists run on this thread compute; later ones
/// pass their input on. The head then reads the residual stream behind block `count`, which is the
/// logit lens.
class BlockLimit {
 public:
  explicit BlockLimit(int64_t count);
  BlockLimit(const BlockLimit&) = delete;
  BlockLimit& operator=(const BlockLimit&) = delete;
  ~BlockLimit();

  /// For lists of blocks, before each block: whether it computes.
  static bool next_block_runs();
  /// How many blocks there were, those that computed and those that did not.
  int64_t blocks() const { return blocks_; }

 private:
  int64_t count_, blocks_ = 0;
  BlockLimit* outer_;
};

/// Blocks in order, registered as "0", "1", ...
class BlockListImpl : public torch::nn::Module {
 public:
  using Blocks = std::vector<std::shared_ptr<BlockImpl>>;

  void push_back(std::shared_ptr<BlockImpl> block);
  /// Runs them in order. With `recompute` each block's inside is computed again in the backward
  /// pass instead of being kept.
  torch::Tensor forward(torch::Tensor x, bool recompute = false) {
    return forward_first(size(), std::move(x), recompute);
  }
  /// The same of the first `count` blocks.
  torch::Tensor forward_first(size_t count, torch::Tensor x, bool recompute = false);

  const Blocks& in_order() const { return blocks_; }
  size_t size() const { return blocks_.size(); }
  Blocks::const_iterator begin() const { return blocks_.begin(); }
  Blocks::const_iterator end() const { return blocks_.end(); }
  /// Block `i`, which is known to be of this type.
  template <typename Impl>
  Impl& at(size_t i) const {
    auto* block = dynamic_cast<Impl*>(blocks_.at(i).get());
    TORCH_INTERNAL_ASSERT(block != nullptr, "block ", i, " is of another type");
    return *block;
  }

 private:
  Blocks blocks_;
};
TORCH_MODULE(BlockList);

}  // namespace vitrine
