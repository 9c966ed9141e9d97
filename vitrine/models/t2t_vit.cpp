#include "vitrine/models/t2t_vit.h"

#include <cmath>
#include <limits>

#include "vitrine/core/checks.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/nn/dot_product_attention.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/performer_attention.h"
#include "vitrine/nn/positional_encoding.h"
#include "vitrine/nn/readout.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {
namespace {

constexpr size_t kSplits = 3;
constexpr double kSmallestSum = std::numeric_limits<float>::min();
constexpr double kPerformerEpsilon = 1e-8;  // added to the divisor

torch::nn::LayerNorm t2t_layer_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

/// Queries, keys and values of a window, in the order of the source.
Linear window_projection(const TokenLayerConfig& c, bool bias) {
  return Linear(
      LinearConfig{.in = c.in, .out = 3 * c.dim, .bias = bias, .stacked = {c.dim, c.dim, c.dim}});
}

T2tVitConfig with_transformer_tokens(T2tVitConfig c) {
  c.token_layer = TokenLayerKind::Transformer;
  c.token_dropout = 0;
  return c;
}

}  // namespace

void T2tVitConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels; a multiple of the strides' product");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("kernels", kernels, "sides of the overlapping windows of the three splits");
  f("strides", strides, "steps from window to window in the three splits");
  f("token_layer", token_layer,
    Choices<TokenLayerKind>{{"performer", TokenLayerKind::Performer},
                            {"transformer", TokenLayerKind::Transformer}},
    "attention between the splits: by random features, or softmax attention");
  f("token_dim", token_dim, "embedding dimension between the splits");
  f("token_dropout", token_dropout,
    "dropout after the projections and the feed-forward networks between the splits");
  f("dim", dim, "embedding dimension");
  f("depth", depth, "blocks");
  f("heads", heads, "attention heads; must divide dim");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP)");
  f("dropout", dropout,
    "dropout after the positional encoding, the projections and the feed-forward layers");
  f("attention_dropout", attention_dropout, "dropout on the attention weights");
  f("drop_path", drop_path, "stochastic depth of the last block, growing linearly from 0");
}

void T2tVitConfig::validate() const {
  check(image > 0 && channels > 0 && classes > 0 && depth > 0 && hidden > 0,
        "t2t_vit: image {}, channels {}, classes {}, depth {} and hidden {} must be positive",
        image, channels, classes, depth, hidden);
  check(kernels.size() == kSplits && strides.size() == kSplits,
        "t2t_vit: kernels [{}] and strides [{}] must have {} numbers each",
        fmt::join(kernels, ", "), fmt::join(strides, ", "), kSplits);
  int64_t left = image;
  for (size_t i = 0; i < kSplits; ++i) {
    check(
        strides[i] > 0 && strides[i] <= kernels[i] && (strides[i] > 1 || kernels[i] % 2 == 1),
        "t2t_vit: windows of {} at stride {}; choose a stride from 1 to the window's side, and an "
        "odd side for stride 1",
        kernels[i], strides[i]);
    check(kernels[i] <= image && left % strides[i] == 0,
          "t2t_vit: image {} cannot be split into windows of [{}] at strides [{}]; choose an image "
          "that is a multiple of the strides' product",
          image, fmt::join(kernels, ", "), fmt::join(strides, ", "));
    left /= strides[i];
  }
  check(token_dim > 0 && token_dim % 2 == 0, "t2t_vit: token_dim {} must be positive and even",
        token_dim);
  check(heads > 0 && dim > 0 && dim % heads == 0,
        "t2t_vit: dim {} is not a multiple of heads {}; choose heads that divide the width", dim,
        heads);
  check(dim % 2 == 0, "t2t_vit: dim {} is odd; sinusoidal positions need an even one", dim);
  check_fraction("t2t_vit", "token_dropout", token_dropout);
  check_fraction("t2t_vit", "dropout", dropout);
  check_fraction("t2t_vit", "attention_dropout", attention_dropout);
  check_fraction("t2t_vit", "drop_path", drop_path);
}

int64_t T2tVitConfig::side(size_t split) const {
  int64_t s = image;
  for (size_t i = 0; i <= split; ++i) s /= strides[i];
  return s;
}

T2tVitConfig t2t_vit_7() { return {.dim = 256, .depth = 7, .heads = 4, .hidden = 512}; }

T2tVitConfig t2t_vit_10() { return {.dim = 256, .depth = 10, .heads = 4, .hidden = 512}; }

T2tVitConfig t2t_vit_12() { return {.dim = 256, .depth = 12, .heads = 4, .hidden = 512}; }

T2tVitConfig t2t_vit_14() { return {}; }

T2tVitConfig t2t_vit_19() { return {.dim = 448, .depth = 19, .heads = 7, .hidden = 1344}; }

T2tVitConfig t2t_vit_24() { return {.dim = 512, .depth = 24, .heads = 8, .hidden = 1536}; }

T2tVitConfig t2t_vit_t_14() { return with_transformer_tokens(t2t_vit_14()); }

T2tVitConfig t2t_vit_t_19() { return with_transformer_tokens(t2t_vit_19()); }

T2tVitConfig t2t_vit_t_24() { return with_transformer_tokens(t2t_vit_24()); }

T2tVitConfig t2t_c10() {
  return {.image = 32,
          .classes = 10,
          .kernels = {3, 3, 3},
          .strides = {1, 2, 2},
          .token_dim = 32,
          .token_dropout = 0,
          .dim = 128,
          .depth = 4,
          .heads = 4,
          .hidden = 256};
}

TokenLayerImpl::TokenLayerImpl(const TokenLayerConfig& c) : config(c) {
  norm1 = register_module("norm1", t2t_layer_norm(config.in));
  norm2 = register_module("norm2", t2t_layer_norm(config.dim));
}

TokenAttentionImpl::TokenAttentionImpl(const TokenLayerConfig& c) : config(c) {
  qkv = register_module("qkv", window_projection(config, /*bias=*/false));
  proj = register_module("proj", Linear(config.dim, config.dim));
}

torch::Tensor TokenAttentionImpl::forward(const torch::Tensor& x) {
  const auto parts = qkv(x).unsqueeze(1).chunk(3, -1);  // (B, 1, T, dim) each
  const auto mixed = dot_product_attention(parts[0], parts[1], parts[2],
                                           {.queries = config.grid,
                                            .keys = config.grid,
                                            .scale = 1 / std::sqrt(config.in),
                                            .products = qkv->precision()});
  return parts[2].squeeze(1) + keyed_dropout(proj(mixed), config.dropout, is_training());
}

TokenTransformerImpl::TokenTransformerImpl(const TokenLayerConfig& c) : TokenLayerImpl(c) {
  attn = register_module("attn", TokenAttention(config));
  mlp = register_module("mlp",
                        FeedForward(FeedForwardConfig{
                            .dim = config.dim, .hidden = config.dim, .dropout = config.dropout}));
}

torch::Tensor TokenTransformerImpl::forward(const torch::Tensor& x) {
  const auto h = attn(layer_norm(x, norm1));  // (B, T, dim)
  return h + mlp(layer_norm(h, norm2));
}

TokenPerformerImpl::TokenPerformerImpl(const TokenLayerConfig& c) : TokenLayerImpl(c) {
  const auto C = config.dim, M = C / 2;
  kqv = register_module("kqv", window_projection(config, /*bias=*/true));
  proj = register_module("proj", Linear(C, C));
  mlp =
      register_module("mlp", torch::nn::Sequential(Linear(C, C), torch::nn::GELU(), Linear(C, C)));
  const auto directions = orthogonal_features(M, C);
  w = register_buffer("w", directions / directions.norm(2, -1, /*keepdim=*/true) * std::sqrt(M));
}

torch::Tensor TokenPerformerImpl::features_of(const torch::Tensor& x) const {
  const auto half_square = 0.5 * x.square().sum(-1, /*keepdim=*/true);  // (B, T, 1)
  return (x.matmul(w.t()) - half_square).exp() / std::sqrt(w.size(0));
}

torch::Tensor TokenPerformerImpl::attend(const torch::Tensor& q, const torch::Tensor& k,
                                         const torch::Tensor& v) const {
  const auto queries = features_of(q), keys = features_of(k);  // (B, T, M)
  const auto sum = queries.matmul(keys.sum(1).unsqueeze(-1));  // (B, T, 1)
  const auto divisor = sum + kPerformerEpsilon;
  if (auto* capture = AttentionCapture::current()) {
    // The weights that it never holds otherwise, for T x T pairs; their rows sum to 1.
    const auto shares = queries.matmul(keys.transpose(1, 2)) / sum.clamp_min(kSmallestSum);
    const auto recorded = shares.unsqueeze(1);  // (B, 1, T, T)
    capture->record(recorded, config.grid, config.grid);
    if (capture->in_graph()) return recorded.squeeze(1).matmul(v) * (sum / divisor);
  }
  const auto content = keys.transpose(1, 2).matmul(v);  // (B, M, dim)
  return queries.matmul(content) / divisor;             // (B, T, dim)
}

torch::Tensor TokenPerformerImpl::forward(const torch::Tensor& x) {
  const auto drop = [&](const torch::Tensor& t) {
    return keyed_dropout(t, config.dropout, is_training());
  };
  const auto parts = kqv(layer_norm(x, norm1)).chunk(3, -1);
  const auto &k = parts[0], &q = parts[1], &v = parts[2];  // (B, T, dim)
  const auto h = v + drop(proj(attend(q, k, v)));
  return h + drop(mlp->forward(layer_norm(h, norm2)));
}

TokensToTokenImpl::TokensToTokenImpl(const T2tVitConfig& c) : config(c) {
  const auto window = [&](size_t split, int64_t channels) {
    return channels * config.kernels[split] * config.kernels[split];
  };
  const auto layer = [&](size_t split, int64_t channels) -> std::shared_ptr<TokenLayerImpl> {
    const auto side = config.side(split);
    const TokenLayerConfig tokens = {.in = window(split, channels),
                                     .dim = config.token_dim,
                                     .dropout = config.token_dropout,
                                     .grid = {side, side}};
    if (config.token_layer == TokenLayerKind::Performer)
      return std::make_shared<TokenPerformerImpl>(tokens);
    return std::make_shared<TokenTransformerImpl>(tokens);
  };
  attention1 = register_module("attention1", layer(0, config.channels));
  attention2 = register_module("attention2", layer(1, config.token_dim));
  project = register_module("project", Linear(window(2, config.token_dim), config.dim));
}

torch::Tensor TokensToTokenImpl::split(const torch::Tensor& map, size_t index) const {
  const auto k = config.kernels[index], s = config.strides[index], padding = (k - s + 1) / 2;
  return torch::im2col(map, {k, k}, /*dilation=*/{1, 1}, {padding, padding}, {s, s})
      .transpose(1, 2);
}

torch::Tensor TokensToTokenImpl::as_map(const torch::Tensor& tokens, size_t index) const {
  const auto side = config.side(index);
  return tokens.transpose(1, 2).reshape({tokens.size(0), tokens.size(2), side, side});
}

torch::Tensor TokensToTokenImpl::forward(const torch::Tensor& x) {
  const auto first = attention1(split(x, 0));                  // (B, T of split 0, token_dim)
  const auto second = attention2(split(as_map(first, 0), 1));  // (B, T of split 1, token_dim)
  return project(split(as_map(second, 1), 2));                 // (B, T of split 2, dim)
}

T2tVit::T2tVit(const T2tVitConfig& c) : config(c) {
  config.validate();
  const auto C = config.dim, side = config.side(kSplits - 1);
  tokens_to_token = register_module("tokens_to_token", TokensToToken(config));
  cls_token = register_parameter("cls_token", torch::randn({1, 1, C}) * 0.02);
  pos_embed = register_buffer("pos_embed", sinusoidal_encoding(1 + side * side, C).unsqueeze(0));
  const EncoderBlockConfig block = {.dim = C,
                                    .heads = config.heads,
                                    .hidden = config.hidden,
                                    .qkv_bias = false,
                                    .norm_eps = 1e-5,
                                    .dropout = config.dropout,
                                    .attention_dropout = config.attention_dropout,
                                    .drop_path = config.drop_path,
                                    .grid = {side, side, /*prefix=*/1}};
  blocks = register_module("blocks", encoder_blocks(block, config.depth));
  norm = register_module("norm", t2t_layer_norm(C));
  head = register_module("head", Linear(C, config.classes));
  initialize_transformer(*this);
  // Longer keys and queries would make all random features vanish: the authors' rule.
  const torch::NoGradGuard no_grad;
  for (const auto& layer : {tokens_to_token->attention1, tokens_to_token->attention2})
    if (config.token_layer == TokenLayerKind::Performer)
      torch::nn::init::normal_(layer->projection(), 0, 0.02);
}

torch::Tensor T2tVit::features(const torch::Tensor& x) {
  auto tokens = tokens_to_token(x);  // (B, T, C)
  tokens = torch::cat({cls_token.expand({x.size(0), 1, config.dim}), tokens}, 1) + pos_embed;
  tokens = keyed_dropout(tokens, config.dropout, is_training());
  return read_token(norm(blocks->forward(tokens, recompute_blocks)));  // (B, C)
}

torch::Tensor T2tVit::logits(const torch::Tensor& features) { return head(features); }

void T2tVit::reset_head(int64_t classes) {
  replace_head("head", head, classes);
  config.classes = classes;
}

torch::Tensor T2tVit::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> T2tVit::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

std::optional<ImageTokens> T2tVit::image_tokens() const {
  return ImageTokens{config.side(0), config.side(0), /*field=*/config.kernels[0],
                     /*stride=*/config.strides[0]};
}

torch::Tensor T2tVit::input_filters() const {
  const auto k = config.kernels[0];
  return tokens_to_token->attention1->projection().view({-1, config.channels, k, k});
}

}  // namespace vitrine
