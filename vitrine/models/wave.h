#pragma once

// Sine-wave models: (B, T) values -> (B) next values. One attends to all values
// at once and predicts from the last position; the other reads them one after the other
// and predicts from its last state.

#include "vitrine/core/fields.h"
#include "vitrine/core/recurrent_cell.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/positional_encoding.h"

namespace vitrine {

struct WaveTransformerConfig {
  int64_t length = 20;  // values that the positions reach over
  int64_t dim = 32;
  int64_t heads = 4;
  int64_t hidden = 128;
  int64_t layers = 1;
  PositionalEncoding positions = PositionalEncoding::Sinusoidal;
  NormPosition norm = NormPosition::Pre;
  Activation activation = Activation::Gelu;

  void visit(Fields& f);
  void validate() const;
};

/// Each value becomes a token; encoder blocks; the last token predicts the next value.
class WaveTransformer : public Model {
 public:
  explicit WaveTransformer(const WaveTransformerConfig& c);
  torch::Tensor features(const torch::Tensor& values) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor example_input(int64_t batch) const override;
  Task task() const override { return Task::NextValue; }
  torch::Tensor position_table() const override { return positions.table(); }

  const WaveTransformerConfig config;
  Linear embed{nullptr};
  PositionEmbedding positions;
  BlockList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};  // with NormPosition::Pre only
  Linear head{nullptr};
};

const Choices<Cell>& cell_names();

struct WaveRnnConfig {
  Cell cell = Cell::Rnn;
  int64_t hidden = 64;

  void visit(Fields& f);
  void validate() const;
};

/// A recurrent layer of torch's; its last state predicts the next value. Takes sequences of any
/// length.
class WaveRnn : public Model {
 public:
  explicit WaveRnn(const WaveRnnConfig& c);
  torch::Tensor features(const torch::Tensor& values) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  torch::Tensor example_input(int64_t batch) const override;
  Task task() const override { return Task::NextValue; }

  const WaveRnnConfig config;
  torch::nn::RNN rnn{nullptr};    // with Cell::Rnn only
  torch::nn::LSTM lstm{nullptr};  // with Cell::Lstm only
  torch::nn::GRU gru{nullptr};    // with Cell::Gru only
  Linear head{nullptr};
};

}  // namespace vitrine
