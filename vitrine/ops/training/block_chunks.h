#pragma once

// A transformer block that learns, chunk by chunk of its sequences. For `training_encoder_block`.

#include <torch/types.h>

#include <memory>
#include <vector>

#include "vitrine/ops/training/chunk_attention.h"
#include "vitrine/ops/training/encoder_block.h"
#include "vitrine/ops/training/hidden_tiles.h"
#include "vitrine/ops/training/product.h"

namespace vitrine {

/// Which numbers are dropped: keys of the random masks.
struct BlockKeys {
  int64_t attention = 0, projection = 0, path1 = 0, hidden = 0, output = 0, path2 = 0;

  static BlockKeys draw(const EncoderBlockSettings& settings);
};

/// What happens to a branch (M, C) before it joins the residual stream: dropout, then stochastic
/// depth. The same happens to its gradient.
class BranchDropout {
 public:
  BranchDropout(const BlockLayout& layout, const EncoderBlockSettings& settings, int64_t key,
                int64_t path_key);
  bool off() const { return elements_.p == 0 && kept_.empty(); }
  void apply(const Tile& tile, int64_t first_row) const;

 private:
  int64_t T_;
  TileDropout elements_;
  std::vector<float> kept_;  // the factor of each sequence; empty: all 1
};

/// What the forward pass keeps for the backward pass, beside its input.
struct KeptBlock {
  KeptAttention attention;
  torch::Tensor mixed_groups;  // what attention gave, by columns
  torch::Tensor h;             // (M, C): the residual stream between attention and feed-forward
  torch::Tensor before;        // what the activation function got

  KeptBlock() = default;
  explicit KeptBlock(const BlockLayout& layout);
};

/// Rows of one of the two norms.
struct BlockNorm {
  const torch::Tensor &gamma, &beta;
  int index;  // 0: before attention, 1: before the feed-forward network
};

/// One thread's memory.
class BlockScratch {
 public:
  BlockScratch(const BlockLayout& layout, bool backward);

  ChunkAttention attention;
  std::unique_ptr<float[]> tokens;           // (rows, C)
  std::unique_ptr<float[]> mean, inv_std;    // (rows)
  std::unique_ptr<int32_t[]> words, hidden;  // (rows, words of 3 C), (rows, words of F)
  std::unique_ptr<float[]> d_qkv;            // (rows, 3 C), of the backward pass
  std::unique_ptr<float[]> d_tokens, d_h;    // (rows, C), of the backward pass
};

/// The forward pass.
class BlockForward {
 public:
  BlockForward(const BlockLayout& layout, const EncoderBlockWeights& weights,
               const EncoderBlockSettings& settings, const BlockKeys& keys);
  /// Of one chunk. Without `kept` nothing is kept.
  void run(int64_t chunk, const float* x, float* y, const KeptBlock* kept, BlockScratch& s) const;

 private:
  const BlockLayout l_;
  const EncoderBlockWeights& w_;
  const EncoderBlockSettings& settings_;
  const BlockKeys keys_;
  BranchDropout branch1_, branch2_;
  TrainingProduct qkv_, proj_, fc1_, fc2_;
};

/// The backward pass: all chunks, in any order, then the gradients of the weights.
class BlockBackward {
 public:
  BlockBackward(const BlockLayout& layout, const EncoderBlockWeights& weights,
                const EncoderBlockSettings& settings, const BlockKeys& keys, const KeptBlock& kept);
  void run(int64_t chunk, const float* x, const float* dy, float* dx, BlockScratch& s) const;
  /// In the order of `EncoderBlockWeights`, with one for every bias.
  std::vector<torch::Tensor> parameter_gradients() const;

 private:
  /// A factor of a weight's gradient and what it sums up to: column groups for products that sum
  /// over all rows, and the sums over the rows of each block.
  struct Sums {
    Sums(const BlockLayout& layout, int64_t K);
    ColumnGroups columns;
    torch::Tensor groups, block_sums;
  };
  struct Inputs {
    Inputs(const BlockLayout& layout, int64_t K);

    ColumnGroups columns;
    torch::Tensor groups;
  };

  /// Rows (R, K) of gradients as the factor of a product, and into the sums.
  WordRows take(const float* rows, int64_t chunk, const Sums& sums, BlockScratch& s) const;
  /// The gradient (R, C) of a branch behind its dropout, from that of the residual stream.
  const float* through(const BranchDropout& branch, int64_t chunk, const float* gradient,
                       BlockScratch& s) const;
  void feed_forward(int64_t chunk, const float* dy, BlockScratch& s) const;
  void attention(int64_t chunk, BlockScratch& s) const;
  /// dx = the gradient of a norm's input, x, from d_tokens, that of its output, and `residual`
  /// (null: none); the norm's output goes to `inputs`.
  void norm(int64_t chunk, const float* x, const BlockNorm& norm, const Inputs& inputs,
            const float* residual, float* dx, BlockScratch& s) const;

  const BlockLayout l_;
  const EncoderBlockWeights& w_;
  const EncoderBlockSettings& settings_;
  const BlockKeys keys_;
  const KeptBlock& kept_;
  BranchDropout branch1_, branch2_;
  TrainingProduct qkv_, proj_, fc1_, fc2_;  // that give gradients of their inputs
  Sums d_qkv_, d_proj_, d_fc1_, d_fc2_;     // gradients of their outputs
  Inputs norm1_, norm2_, hidden_;
  torch::Tensor norm_sums_;  // (4, chunks, C): of gamma1, beta1, gamma2, beta2
};

}  // namespace vitrine
