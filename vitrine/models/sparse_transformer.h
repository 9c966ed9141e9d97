#pragma once

// Sparse Transformer: Child et al., "Generating Long Sequences with Sparse Transformers"
// (arXiv:1904.10509). An image or a text is a sequence of bytes, and each byte is predicted from
// those before it. With a sparse pattern a layer costs O(n sqrt n) instead of O(n^2).

#include "vitrine/core/fields.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/sparse_block.h"

namespace vitrine {

/// How the two factors of a pattern are assigned: both to each head; head by head; layer by layer.
enum class PatternAssignment { Merged, PerHead, PerLayer };
const Choices<PatternAssignment>& pattern_assignment_names();

/// Byte order of an image: R0 G0 B0 R1 ... or all R, all G, all B.
enum class ByteOrder { Interleaved, Planar };
const Choices<ByteOrder>& byte_order_names();

/// Initialisation of the byte and position embeddings: random as in the paper; or sinusoidal, so
/// that neighbours are alike and a distance means the same everywhere.
enum class EmbeddingInit { Random, Sinusoidal };
const Choices<EmbeddingInit>& embedding_init_names();

struct SparseTransformerConfig {
  int64_t rows = 32, columns = 32, channels = 3;
  ByteOrder order = ByteOrder::Interleaved;
  int64_t layers = 128;
  int64_t heads = 2;
  int64_t dim = 256;
  int64_t key_width = 128;
  int64_t hidden = 512;
  double dropout = 0.25;
  EmbeddingInit embedding_init = EmbeddingInit::Random;
  PatternAssignment assignment = PatternAssignment::Merged;
  // per_layer: layer i has the second factor where i % layer_period == layer_phase
  int64_t layer_period = 2;
  int64_t layer_phase = 1;
  std::vector<int64_t> head_strides{};  // by head, cyclically; empty: all have the pattern's
  AttentionPattern pattern{.kind = PatternKind::Strided, .stride = 64};

  int64_t length() const { return rows * columns * channels; }
  void visit(Fields& f);
  void validate() const;
};

/// The attention of one layer: the pattern of each of its heads.
SparseAttentionConfig sparse_transformer_attention(const SparseTransformerConfig& config,
                                                   int64_t layer);

/// CIFAR-10 as 3072 bytes: 128, 16 or 4 layers.
SparseTransformerConfig sparse_c10();
SparseTransformerConfig sparse_c10_small();
SparseTransformerConfig sparse_c10_tiny();

/// (B, T) bytes -> (B, T, 256): logits of each byte from those before it. Bytes come and logits go
/// in interleaved order, whatever the order in which the model takes them.
class SparseTransformer : public Model, public BlockDecoder {
 public:
  explicit SparseTransformer(const SparseTransformerConfig& c);
  /// In the order in which the model takes the bytes.
  torch::Tensor features(const torch::Tensor& bytes) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor example_input(int64_t batch) const override;
  Task task() const override { return Task::NextToken; }
  /// Interleaved (B, T, ...) in the order in which the model takes the bytes, and back.
  torch::Tensor ordered(const torch::Tensor& x) const;
  torch::Tensor interleaved(const torch::Tensor& x) const;
  /// The position embedding, in the model's order: (1, T, C).
  torch::Tensor position_table() const override;

  Decoder* decoder() override { return this; }
  int64_t vocabulary() const override { return kByteValues; }
  int64_t context() const override { return config.length(); }
  /// Images have three channels; all else is text.
  std::optional<ImageLayout> image_layout() const override;
  torch::Tensor reading_order() const override;

  const SparseTransformerConfig config;
  torch::Tensor start;  // (dim), stands before the first byte
  torch::nn::Embedding embedding{nullptr};
  torch::Tensor row_embed, column_embed, channel_embed;  // (rows, dim), ...; no channels: undefined
  BlockList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  Linear head{nullptr};

 protected:
  Parts parts() const override;

 private:
  void initialize();
  void initialize_embeddings();
};

}  // namespace vitrine
