#pragma once

#include <torch/types.h>

#include <memory>

#include "vitrine/kernels/packed_attention.h"
#include "vitrine/ops/training/block_layout.h"

namespace vitrine {

/// What the backward pass of attention needs of the forward pass.
struct KeptAttention {
  torch::Tensor qkv;      // (M, 3 C), in bf16 if its products are
  torch::Tensor weights;  // as `HeadAttention` keeps them

  KeptAttention() = default;
  explicit KeptAttention(const BlockLayout& layout);
};

/// Attention of the sequences of a chunk, by one thread.
class ChunkAttention {
 public:
  /// With dropout of the attention weights.
  struct Dropout {
    double probability;
    int64_t key;
  };

  explicit ChunkAttention(const BlockLayout& layout);

  /// Where queries, keys and values (rows, 3 C) belong, as words of `precision`. Without `kept`
  /// nothing is kept.
  int32_t* qkv(int64_t chunk, const KeptAttention* kept) const;
  Precision precision() const;
  /// out (rows, C) of them.
  void forward(int64_t chunk, const Dropout& dropout, const KeptAttention* kept, float* out);
  /// Their gradients (rows, 3 C) from that of `out`.
  void backward(int64_t chunk, const Dropout& dropout, const KeptAttention& kept,
                const float* d_out, float* d_qkv);

 private:
  /// Head `h` of sequence `i` of a chunk.
  struct Place {
    int64_t i, h, number;  // its number among the heads of the batch
  };

  template <typename Work>
  void for_heads(int64_t chunk, const Work& work) const;
  kernels::Head<float> head(const Place& place, const Dropout& dropout, const float* qkv) const;
  kernels::PackedAttention::WordRows word_rows(const Place& place, const int32_t* qkv) const;

  const BlockLayout layout_;
  // One of them: by packed factors, from words, or by numbers.
  std::unique_ptr<kernels::PackedAttention> packed_;
  std::unique_ptr<kernels::HeadAttention<float>> plain_;
  std::unique_ptr<int32_t[]> words_;  // (rows, words of 3 C)
};

}  // namespace vitrine
