#pragma once

// A small language model: Radford et al., "Improving Language Understanding by Generative
// Pre-Training" (2018), with the norms before each sublayer as in its successors. Every word sees
// itself and those before it, and the next word is predicted at each position. Not as there: words
// instead of pieces of words, an output layer of its own, far fewer numbers.

#include "vitrine/core/fields.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/positional_encoding.h"

namespace vitrine {

struct WordTransformerConfig {
  int64_t vocabulary = 419;  // that of data set `sentences`
  int64_t context = 16;      // most words of a sentence, with the start
  int64_t dim = 64;
  int64_t heads = 4;
  int64_t hidden = 256;
  int64_t layers = 2;
  PositionalEncoding positions = PositionalEncoding::Learned;
  double dropout = 0.1;
  EfficientAttentionConfig attention{};

  void visit(Fields& f);
  void validate() const;
};

/// (B, T) words -> (B, T, vocabulary) logits of the word that comes after each.
class WordTransformer : public Model, public BlockDecoder {
 public:
  explicit WordTransformer(const WordTransformerConfig& c);
  torch::Tensor features(const torch::Tensor& words) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor example_input(int64_t batch) const override;
  Task task() const override { return Task::NextToken; }
  torch::Tensor position_table() const override { return positions.table(); }

  Decoder* decoder() override { return this; }
  int64_t vocabulary() const override { return config.vocabulary; }
  int64_t context() const override { return config.context; }

  const WordTransformerConfig config;
  torch::nn::Embedding embedding{nullptr};
  PositionEmbedding positions;
  BlockList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  Linear head{nullptr};

 protected:
  Parts parts() const override;
};

}  // namespace vitrine
