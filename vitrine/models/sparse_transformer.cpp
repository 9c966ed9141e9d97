#include "vitrine/models/sparse_transformer.h"

#include <cmath>
#include <numbers>

#include "vitrine/core/checks.h"
#include "vitrine/core/error.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {
namespace {

constexpr double kScale = 0.125;  // of initial weights, as in the paper

/// The pattern of a head in a layer.
AttentionPattern head_pattern(const SparseTransformerConfig& config, int64_t layer, int64_t head) {
  auto pattern = config.pattern;
  const auto& strides = config.head_strides;
  if (!strides.empty()) pattern.stride = strides[static_cast<size_t>(head) % strides.size()];
  const auto factor = [](bool second) {
    return second ? PatternFactor::Second : PatternFactor::First;
  };
  if (config.assignment == PatternAssignment::PerHead) pattern.factor = factor(head % 2 == 1);
  if (config.assignment == PatternAssignment::PerLayer)
    pattern.factor = factor(layer % config.layer_period == config.layer_phase);
  if (pattern.kind != PatternKind::Fixed) return pattern;
  const auto most =
      std::max<int64_t>(1, pattern.stride / pattern.summary_tokens);  // that fit a block
  pattern.offset = (pattern.offset + head) % most;
  return pattern;
}

/// (n, C): random mixtures of sinusoids with wavelengths from twice the table down to four
/// positions, of size 1, so that an optimizer's first steps do not wipe them out.
void init_sinusoidal(torch::Tensor& table, int64_t waves) {
  constexpr double kShortest = 4;
  const auto positions = torch::arange(table.size(0), torch::kDouble).unsqueeze(1);
  const double longest = std::max(kShortest, 2 * static_cast<double>(table.size(0)));
  const auto lengths =
      torch::logspace(std::log10(longest), std::log10(kShortest), waves, 10.0, torch::kDouble);
  const auto angles = 2 * std::numbers::pi * positions / lengths;  // (n, waves)
  const auto values = torch::cat({angles.cos(), angles.sin()}, 1).to(table.dtype());
  const auto mix = torch::randn({2 * waves, table.size(1)}, table.options());
  table.copy_(values.mm(mix) / std::sqrt(static_cast<double>(waves)));
}

}  // namespace

const Choices<PatternAssignment>& pattern_assignment_names() {
  static const Choices<PatternAssignment> names = {{"merged", PatternAssignment::Merged},
                                                   {"per_head", PatternAssignment::PerHead},
                                                   {"per_layer", PatternAssignment::PerLayer}};
  return names;
}

const Choices<ByteOrder>& byte_order_names() {
  static const Choices<ByteOrder> names = {{"interleaved", ByteOrder::Interleaved},
                                           {"planar", ByteOrder::Planar}};
  return names;
}

const Choices<EmbeddingInit>& embedding_init_names() {
  static const Choices<EmbeddingInit> names = {{"random", EmbeddingInit::Random},
                                               {"sinusoidal", EmbeddingInit::Sinusoidal}};
  return names;
}

void SparseTransformerConfig::visit(Fields& f) {
  f("rows", rows, "rows of the image; of a text: length / columns");
  f("columns", columns, "pixels in a row; of a text: any number that divides its length");
  f("channels", channels, "bytes per pixel; 1 for text");
  f("order", order, byte_order_names(), "byte order of an image");
  f("layers", layers, "blocks");
  f("heads", heads, "attention heads; must divide dim and key_width");
  f("dim", dim, "embedding dimension");
  f("key_width", key_width, "dimension of queries and keys, all heads together");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP)");
  f("dropout", dropout, "residual dropout");
  f("embedding_init", embedding_init, embedding_init_names(),
    "initialisation of the byte and position embeddings");
  f("assignment", assignment, pattern_assignment_names(),
    "how the two factors of the pattern are assigned to heads and layers");
  f("layer_period", layer_period, "per_layer: period of the layer pattern");
  f("layer_phase", layer_phase,
    "per_layer: layer of each period, from 0, that has the second factor");
  f("head_strides", head_strides,
    "strides of the heads, cyclically; empty = pattern.stride for all");
  f.group("pattern", pattern, "attention pattern");
}

void SparseTransformerConfig::validate() const {
  check(rows > 0 && columns > 0 && channels > 0 && layers > 0 && heads > 0 && dim > 0 && hidden > 0,
        "sparse_transformer: rows {}, columns {}, channels {}, layers {}, heads {}, dim {} and "
        "hidden {} must be positive",
        rows, columns, channels, layers, heads, dim, hidden);
  check(layer_period > 0 && layer_phase >= 0 && layer_phase < layer_period,
        "sparse_transformer: layer_phase {} is not between 0 and layer_period - 1 = {}",
        layer_phase, layer_period - 1);
  check(pattern.causal, "sparse_transformer: the pattern must be causal");
  check_fraction("sparse_transformer", "dropout", dropout);
  pattern.validate();
  sparse_transformer_attention(*this, /*layer=*/0).validate();
}

SparseAttentionConfig sparse_transformer_attention(const SparseTransformerConfig& config,
                                                   int64_t layer) {
  SparseAttentionConfig attention{
      .dim = config.dim, .key_width = config.key_width, .tokens = config.length()};
  for (int64_t head = 0; head < config.heads; ++head)
    attention.patterns.push_back(head_pattern(config, layer, head));
  return attention;
}

SparseTransformerConfig sparse_c10() { return {}; }

SparseTransformerConfig sparse_c10_small() {
  SparseTransformerConfig c;
  c.layers = 16;
  return c;
}

SparseTransformerConfig sparse_c10_tiny() {
  SparseTransformerConfig c;
  c.layers = 4;
  c.dim = 64;
  c.key_width = 64;
  c.hidden = 128;
  c.dropout = 0;
  return c;
}

SparseTransformer::SparseTransformer(const SparseTransformerConfig& c) : config(c) {
  config.validate();
  const auto C = config.dim;
  start = register_parameter("start", torch::empty({C}));
  embedding = register_module("embedding", torch::nn::Embedding(kByteValues, C));
  row_embed = register_parameter("row_embed", torch::empty({config.rows, C}));
  column_embed = register_parameter("column_embed", torch::empty({config.columns, C}));
  if (config.channels > 1)
    channel_embed = register_parameter("channel_embed", torch::empty({config.channels, C}));
  blocks = register_module("blocks", BlockList());
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    blocks->push_back(std::make_shared<SparseBlockImpl>(
        SparseBlockConfig{.attention = sparse_transformer_attention(config, layer),
                          .hidden = config.hidden,
                          .dropout = config.dropout}));
  }
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({C}).eps(1e-6)));
  head = register_module("head", Linear(LinearConfig{.in = C, .out = kByteValues, .bias = false}));
  initialize();
}

void SparseTransformer::initialize_embeddings() {
  const auto C = static_cast<double>(config.dim);
  const double tables = channel_embed.defined() ? 3 : 2;
  start.normal_(0, kScale / std::sqrt(C));
  if (config.embedding_init == EmbeddingInit::Sinusoidal) {
    init_sinusoidal(embedding->weight, /*waves=*/16);
    for (auto* table : {&row_embed, &column_embed, &channel_embed})
      if (table->defined()) init_sinusoidal(*table, /*waves=*/8);
    return;
  }
  embedding->weight.normal_(0, kScale / std::sqrt(C));
  for (auto* table : {&row_embed, &column_embed, &channel_embed})
    if (table->defined()) table->normal_(0, kScale / std::sqrt(C * tables));
}

void SparseTransformer::initialize() {
  const torch::NoGradGuard no_grad;
  initialize_embeddings();
  const double branch = 1 / std::sqrt(2.0 * static_cast<double>(config.layers));
  const auto linear = [&](Linear& layer, double factor) {
    layer->weight.normal_(0,
                          factor * kScale / std::sqrt(static_cast<double>(layer->weight.size(1))));
    layer->bias.zero_();
  };
  for (size_t i = 0; i < blocks->size(); ++i) {
    auto& block = blocks->at<SparseBlockImpl>(i);
    linear(block.attn->qkv, 1);
    linear(block.attn->proj, branch);
    linear(block.mlp->fc1, 1);
    linear(block.mlp->fc2, branch);
  }
  head->weight.zero_();
}

torch::Tensor SparseTransformer::example_input(int64_t batch) const {
  return torch::randint(kByteValues, {batch, config.length()}, torch::kLong);
}

torch::Tensor SparseTransformer::ordered(const torch::Tensor& x) const {
  if (config.order == ByteOrder::Interleaved) return x;
  return x.unflatten(1, {config.rows * config.columns, config.channels})
      .transpose(1, 2)
      .flatten(1, 2);
}

torch::Tensor SparseTransformer::interleaved(const torch::Tensor& x) const {
  if (config.order == ByteOrder::Interleaved) return x;
  return x.unflatten(1, {config.channels, config.rows * config.columns})
      .transpose(1, 2)
      .flatten(1, 2);
}

torch::Tensor SparseTransformer::position_table() const {
  const auto R = config.rows, L = config.columns, K = config.channels, C = config.dim;
  const auto at = [&](const torch::Tensor& table, int64_t dimension) {
    std::vector<int64_t> shape = {1, 1, 1, C};
    shape[dimension] = table.size(0);
    return table.view(shape);
  };
  auto sum = at(row_embed, 0) + at(column_embed, 1);              // (R, L, 1, C)
  if (channel_embed.defined()) sum = sum + at(channel_embed, 2);  // (R, L, K, C)
  if (config.order == ByteOrder::Planar) sum = sum.permute({2, 0, 1, 3});
  return sum.reshape({1, R * L * K, C});
}

std::optional<ImageLayout> SparseTransformer::image_layout() const {
  constexpr int64_t kColors = 3;
  if (config.channels != kColors) return std::nullopt;
  return ImageLayout{config.rows, config.columns, config.channels};
}

torch::Tensor SparseTransformer::reading_order() const {
  if (config.order == ByteOrder::Interleaved) return {};
  return ordered(torch::arange(config.length()).unsqueeze(0)).squeeze(0);
}

BlockDecoder::Parts SparseTransformer::parts() const {
  return {.start = start,
          .embedding = embedding,
          .positions = position_table(),
          .blocks = blocks,
          .logits = [head = head, norm = norm](const torch::Tensor& x) mutable {
            return head(layer_norm(x, norm));
          }};
}

torch::Tensor SparseTransformer::features(const torch::Tensor& bytes) {
  const auto T = config.length();
  check(bytes.dim() == 2 && bytes.size(1) == T, "sparse_transformer: input {} is not (B, {}) bytes",
        fmt::join(bytes.sizes(), "x"), T);
  const auto before = embedding(ordered(bytes).narrow(1, 0, T - 1)) +
                      position_table().narrow(1, 0, T - 1);  // of the byte that is seen
  const auto first = start.view({1, 1, config.dim}).expand({bytes.size(0), 1, config.dim});
  const auto x = torch::cat({first, before}, 1);  // (B, T, C)
  return layer_norm(blocks->forward(x, recompute_blocks), norm);
}

torch::Tensor SparseTransformer::logits(const torch::Tensor& features) {
  return interleaved(head(features));  // (B, T, 256)
}

}  // namespace vitrine
