#include "vitrine/models/wave.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/readout.h"
#include "vitrine/ops/layer_norm.h"
#include "vitrine/ops/recurrent.h"

namespace vitrine {
namespace {

constexpr int64_t kExampleLength = 20;

void check_values(const torch::Tensor& values) {
  check(values.dim() == 2 && values.size(1) > 0, "wave: input {} is not (B, T) values",
        fmt::join(values.sizes(), "x"));
}

}  // namespace

void WaveTransformerConfig::visit(Fields& f) {
  f("length", length, "maximum sequence length; unlimited with positions relative or none");
  f("dim", dim, "embedding dimension");
  f("heads", heads, "attention heads; must divide dim");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP)");
  f("layers", layers, "encoder blocks");
  f("positions", positions, positional_encoding_names(), "positional encoding");
  f("norm", norm, norm_position_names(),
    "pre-norm or post-norm: LayerNorm before or after each sublayer");
  f("activation", activation, activation_names(),
    "activation function of the feed-forward network");
}

void WaveTransformerConfig::validate() const {
  check(length > 0 && dim > 0 && hidden > 0 && layers > 0,
        "wave_transformer: length {}, dim {}, hidden {} and layers {} must be positive", length,
        dim, hidden, layers);
  check(heads > 0 && dim % heads == 0,
        "wave_transformer: dim {} is not a multiple of heads {}; choose heads that divide it", dim,
        heads);
}

WaveTransformer::WaveTransformer(const WaveTransformerConfig& c) : config(c) {
  config.validate();
  embed = register_module("embed", Linear(1, config.dim));
  positions =
      PositionEmbedding(*this, sequence_positions(config.positions, config.length, config.dim));
  const EncoderBlockConfig block = {
      .dim = config.dim,
      .heads = config.heads,
      .hidden = config.hidden,
      .activation = config.activation,
      .norm = config.norm,
      .max_relative_distance = max_relative_distance(config.positions, config.length)};
  blocks = register_module("blocks", encoder_blocks(block, config.layers));
  if (config.norm == NormPosition::Pre)
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.dim})));
  head = register_module("head", Linear(config.dim, 1));
  initialize_transformer(*this);
}

torch::Tensor WaveTransformer::features(const torch::Tensor& values) {
  check_values(values);
  check(values.size(1) <= config.length || !position_table().defined(),
        "wave_transformer: a sequence of {} values is longer than length {}; set model.length",
        values.size(1), config.length);
  auto tokens = positions(embed(values.unsqueeze(2)));  // (B, T, C)
  tokens = blocks->forward(tokens, recompute_blocks);
  const auto last = read_token(tokens, /*index=*/-1);  // (B, C)
  return norm ? layer_norm(last, norm) : last;
}

torch::Tensor WaveTransformer::logits(const torch::Tensor& features) {
  return head(features).squeeze(1);  // (B)
}

torch::Tensor WaveTransformer::example_input(int64_t batch) const {
  return torch::randn({batch, config.length});
}

const Choices<Cell>& cell_names() {
  static const Choices<Cell> names = {{"rnn", Cell::Rnn}, {"lstm", Cell::Lstm}, {"gru", Cell::Gru}};
  return names;
}

void WaveRnnConfig::visit(Fields& f) {
  f("cell", cell, cell_names(), "kind of recurrent layer");
  f("hidden", hidden, "hidden state size");
}

void WaveRnnConfig::validate() const {
  check(hidden > 0, "wave_rnn: hidden {} must be positive", hidden);
}

WaveRnn::WaveRnn(const WaveRnnConfig& c) : config(c) {
  config.validate();
  const auto H = config.hidden;
  switch (config.cell) {
    case Cell::Rnn:
      rnn = register_module("rnn", torch::nn::RNN(torch::nn::RNNOptions(1, H).batch_first(true)));
      break;
    case Cell::Lstm:
      lstm =
          register_module("lstm", torch::nn::LSTM(torch::nn::LSTMOptions(1, H).batch_first(true)));
      break;
    case Cell::Gru:
      gru = register_module("gru", torch::nn::GRU(torch::nn::GRUOptions(1, H).batch_first(true)));
      break;
  }
  head = register_module("head", Linear(H, 1));
}

torch::Tensor WaveRnn::features(const torch::Tensor& values) {
  check_values(values);
  const auto weights = rnn ? rnn->all_weights() : lstm ? lstm->all_weights() : gru->all_weights();
  return last_state(values.unsqueeze(2), {weights[0], weights[1], weights[2], weights[3]},
                    config.cell);  // (B, hidden)
}

torch::Tensor WaveRnn::logits(const torch::Tensor& features) {
  return head(features).squeeze(1);  // (B)
}

torch::Tensor WaveRnn::example_input(int64_t batch) const {
  return torch::randn({batch, kExampleLength});
}

}  // namespace vitrine
