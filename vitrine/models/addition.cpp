#include "vitrine/models/addition.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/ops/layer_norm.h"
#include "vitrine/ops/lookup.h"

namespace vitrine {
namespace {

constexpr int64_t kPositions = 4, kDigits = 10;

void check_digits(const torch::Tensor& digits) {
  check(digits.dim() == 2 && digits.size(1) == kPositions,
        "addition: input {} is not (B, {}) digits", fmt::join(digits.sizes(), "x"), kPositions);
}

/// (B, 4) digits -> (B, 4, 10), 1 at the digit.
torch::Tensor one_hot(const torch::Tensor& digits, const torch::Tensor& like) {
  check_digits(digits);
  const auto values = torch::arange(kDigits, digits.options());
  return digits.unsqueeze(2).eq(values).to(like.scalar_type());
}

}  // namespace

torch::Tensor decode_sums(const torch::Tensor& logits) {
  check(logits.dim() == 2 && logits.size(1) == kSumLogits, "addition: logits {} are not (B, {})",
        fmt::join(logits.sizes(), "x"), kSumLogits);
  auto sums = torch::zeros({logits.size(0)}, logits.options().dtype(torch::kLong));
  int64_t first = 0;
  for (const auto values : kSumDigitValues) {
    sums = 10 * sums + logits.narrow(1, first, values).argmax(1);
    first += values;
  }
  return sums;
}

torch::Tensor AdditionModel::example_input(int64_t batch) const {
  return torch::randint(kDigits, {batch, kPositions}, torch::kLong);
}

void AdditionCnnConfig::visit(Fields& f) {
  f("embed", embed, "embedding dimension of a digit");
  f("layers", layers, "convolutions");
  f("channels", channels, "channels of each convolution");
}

void AdditionCnnConfig::validate() const {
  check(embed > 0 && layers > 0 && channels > 0,
        "addition_cnn: embed {}, layers {} and channels {} must be positive", embed, layers,
        channels);
}

AdditionCnn::AdditionCnn(const AdditionCnnConfig& c) : config(c) {
  embedding = register_module("embedding", torch::nn::Embedding(kDigits, config.embed));
  convs = register_module("convs", torch::nn::ModuleList());
  for (int64_t i = 0; i < config.layers; ++i)
    convs->push_back(GridConv(i == 0 ? config.embed : config.channels, config.channels));
  head = register_module("head", Linear(kPositions * config.channels, kSumLogits));
}

torch::Tensor AdditionCnn::features(const torch::Tensor& digits) {
  const auto& table = embedding->weight;  // (10, embed)
  torch::Tensor x;
  for (const auto& layer : *convs) {
    auto* conv = layer->as<GridConv>();
    TORCH_INTERNAL_ASSERT(conv != nullptr);
    x = x.defined() ? conv->forward(x) : conv->look_up(one_hot(digits, table).flatten(1), table);
    x = torch::relu(x);  // (B, 4 * channels)
  }
  return x;
}

torch::Tensor AdditionCnn::logits(const torch::Tensor& features) { return head(features); }

void AdditionTransformerConfig::visit(Fields& f) {
  f("embed", embed, "embedding dimension");
  f("layers", layers, "encoder blocks");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP)");
  f("heads", heads, "attention heads; must divide embed");
  f("positions", positions, positional_encoding_names(), "positional encoding");
  f("norm", norm, norm_position_names(),
    "pre-norm or post-norm: LayerNorm before or after each sublayer");
  f("activation", activation, activation_names(),
    "activation function of the feed-forward network");
}

void AdditionTransformerConfig::validate() const {
  check(embed > 0 && layers > 0 && hidden > 0,
        "addition_transformer: embed {}, layers {} and hidden {} must be positive", embed, layers,
        hidden);
  check(heads > 0 && embed % heads == 0,
        "addition_transformer: embed {} is not a multiple of heads {}; choose heads that divide it",
        embed, heads);
}

AdditionTransformer::AdditionTransformer(const AdditionTransformerConfig& c) : config(c) {
  embedding = register_module("embedding", torch::nn::Embedding(kDigits, config.embed));
  positions = PositionEmbedding(
      *this, {.kind = config.positions, .rows = 2, .columns = 2, .prefix = 0, .dim = config.embed});
  const EncoderBlockConfig block = {
      .dim = config.embed,
      .heads = config.heads,
      .hidden = config.hidden,
      .activation = config.activation,
      .norm = config.norm,
      .max_relative_distance = max_relative_distance(config.positions, kPositions)};
  blocks = register_module("blocks", encoder_blocks(block, config.layers));
  if (config.norm == NormPosition::Pre)
    norm =
        register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.embed})));
  head = register_module("head", Linear(kPositions * config.embed, kSumLogits));
  initialize_transformer(*this);
}

torch::Tensor AdditionTransformer::features(const torch::Tensor& digits) {
  check_digits(digits);
  auto tokens = positions(lookup(digits, embedding->weight));  // (B, 4, embed)
  tokens = blocks->forward(tokens, recompute_blocks);
  if (norm) tokens = layer_norm(tokens, norm);
  return tokens.flatten(1);  // (B, 4 * embed)
}

torch::Tensor AdditionTransformer::logits(const torch::Tensor& features) { return head(features); }

}  // namespace vitrine
