#include "vitrine/models/word_transformer.h"

#include "vitrine/core/checks.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {

void WordTransformerConfig::visit(Fields& f) {
  f("vocabulary", vocabulary, "vocabulary size");
  f("context", context, "maximum sequence length (context size), start token included");
  f("dim", dim, "embedding dimension");
  f("heads", heads, "attention heads; must divide dim");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP)");
  f("layers", layers, "encoder blocks");
  f("positions", positions, positional_encoding_names(), "positional encoding");
  f("dropout", dropout,
    "dropout after the positional encoding, the projections and the feed-forward layers");
  f.group("attention", attention, "kind of causal self-attention; softmax or performer");
}

void WordTransformerConfig::validate() const {
  check(vocabulary > 0 && context > 0 && dim > 0 && hidden > 0 && layers > 0,
        "word_transformer: vocabulary {}, context {}, dim {}, hidden {} and layers {} must be "
        "positive",
        vocabulary, context, dim, hidden, layers);
  check(heads > 0 && dim % heads == 0,
        "word_transformer: dim {} is not a multiple of heads {}; choose heads that divide it", dim,
        heads);
  check_fraction("word_transformer", "dropout", dropout);
}

WordTransformer::WordTransformer(const WordTransformerConfig& c) : config(c) {
  config.validate();
  embedding = register_module("embedding", torch::nn::Embedding(config.vocabulary, config.dim));
  positions =
      PositionEmbedding(*this, sequence_positions(config.positions, config.context, config.dim));
  const EncoderBlockConfig block = {
      .dim = config.dim,
      .heads = config.heads,
      .hidden = config.hidden,
      .dropout = config.dropout,
      .causal = true,
      .max_relative_distance = max_relative_distance(config.positions, config.context),
      .attention = config.attention,
      .grid = sequence_grid(config.context)};
  blocks = register_module("blocks", encoder_blocks(block, config.layers));
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.dim})));
  head = register_module("head", Linear(config.dim, config.vocabulary));
  initialize_transformer(*this);
  torch::nn::init::normal_(embedding->weight, /*mean=*/0, /*std=*/0.02);  // as learned positions
}

torch::Tensor WordTransformer::features(const torch::Tensor& words) {
  check(words.dim() == 2 && words.size(1) > 0, "word_transformer: input {} is not (B, T) words",
        fmt::join(words.sizes(), "x"));
  check(words.size(1) <= config.context,
        "word_transformer: {} words are more than its context of {}; set model.context",
        words.size(1), config.context);
  auto tokens = positions(embedding(words));  // (B, T, C)
  tokens = keyed_dropout(tokens, config.dropout, is_training());
  return layer_norm(blocks->forward(tokens, recompute_blocks), norm);
}

torch::Tensor WordTransformer::logits(const torch::Tensor& features) {
  return head(features);  // (B, T, N)
}

BlockDecoder::Parts WordTransformer::parts() const {
  return {.embedding = embedding,
          .positions = position_table(),
          .blocks = blocks,
          .logits = [head = head, norm = norm](const torch::Tensor& x) mutable {
            return head(layer_norm(x, norm));
          }};
}

torch::Tensor WordTransformer::example_input(int64_t batch) const {
  return torch::randint(config.vocabulary, {batch, config.context}, torch::kLong);
}

}  // namespace vitrine
