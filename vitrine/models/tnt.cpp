#include "vitrine/models/tnt.h"

#include "vitrine/core/checks.h"
#include "vitrine/nn/attention.h"
#include "vitrine/nn/feature_capture.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/readout.h"
#include "vitrine/ops/attention.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {
namespace {

constexpr int64_t kWordKernel = 7;  // of the convolution that makes words

torch::nn::LayerNorm tnt_layer_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

Linear tnt_linear(int64_t in, int64_t out, std::vector<int64_t> stacked = {}) {
  return Linear(LinearConfig{.in = in, .out = out, .bias = false, .stacked = std::move(stacked)});
}

/// Rows for every patch, (B, P, C), with zeros for the class token before them: (B, 1 + P, C).
torch::Tensor behind_class_token(const torch::Tensor& patches) {
  return torch::constant_pad_nd(patches, {0, 0, 1, 0});
}

/// What goes through the blocks: tokens (B, 1 + P, dim), words (B, P, words * inner_dim).
torch::Tensor tnt_stream(const torch::Tensor& tokens, const torch::Tensor& words) {
  return torch::cat({tokens, behind_class_token(words)}, 2);
}

}  // namespace

void TntConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("patch", patch, "side of a patch in pixels; must divide image");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("dim", dim, "embedding dimension of a patch");
  f("depth", depth, "blocks");
  f("heads", heads, "attention heads among patches; must divide dim");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP) of patches");
  f("inner_dim", inner_dim, "embedding dimension of a word, a part of a patch");
  f("inner_heads", inner_heads,
    "attention heads among the words of a patch; must divide inner_dim");
  f("inner_hidden", inner_hidden, "hidden size of the feed-forward network (MLP) of words");
  f("inner_stride", inner_stride, "pixels between neighbouring words");
  f("dropout", dropout,
    "dropout after the positional encoding, the projections and the feed-forward layers");
  f("attention_dropout", attention_dropout, "dropout on the attention weights");
  f("drop_path", drop_path, "stochastic depth of the last block, growing linearly from 0");
}

void TntConfig::validate() const {
  check(image > 0 && patch > 0 && channels > 0 && classes > 0 && depth > 0 && hidden > 0,
        "tnt: image {}, patch {}, channels {}, classes {}, depth {} and hidden {} must be positive",
        image, patch, channels, classes, depth, hidden);
  check(inner_hidden > 0 && inner_stride > 0,
        "tnt: inner_hidden {} and inner_stride {} must be positive", inner_hidden, inner_stride);
  check(image % patch == 0,
        "tnt: patch {} does not divide image {}; choose a patch that divides the image's side",
        patch, image);
  check(heads > 0 && dim > 0 && dim % heads == 0,
        "tnt: dim {} is not a multiple of heads {}; choose heads that divide the width", dim,
        heads);
  check(inner_heads > 0 && inner_dim > 0 && inner_dim % inner_heads == 0,
        "tnt: inner_dim {} is not a multiple of inner_heads {}; choose heads that divide the width",
        inner_dim, inner_heads);
  check_fraction("tnt", "dropout", dropout);
  check_fraction("tnt", "attention_dropout", attention_dropout);
  check_fraction("tnt", "drop_path", drop_path);
}

int64_t TntConfig::words() const {
  const auto along = (patch - 1) / inner_stride + 1;
  return along * along;
}

TntConfig tnt_s() { return {}; }

TntConfig tnt_b() {
  return {.dim = 640, .heads = 10, .hidden = 2560, .inner_dim = 40, .inner_hidden = 160};
}

TntConfig tnt_c10() {
  return {.image = 32,
          .patch = 4,
          .classes = 10,
          .dim = 128,
          .depth = 4,
          .heads = 4,
          .hidden = 512,
          .inner_heads = 2,
          .inner_stride = 2};
}

TntWordsImpl::TntWordsImpl(const TntConfig& c) : patch(c.patch) {
  proj = register_module(
      "proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(c.channels, c.inner_dim, kWordKernel)
                                    .stride(c.inner_stride)
                                    .padding(kWordKernel / 2)));
}

torch::Tensor TntWordsImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), C = x.size(1), R = x.size(2) / patch, L = x.size(3) / patch;
  const auto patches = x.reshape({B, C, R, patch, L, patch})
                           .permute({0, 2, 4, 1, 3, 5})
                           .reshape({B * R * L, C, patch, patch});
  return proj(patches).flatten(2).transpose(1, 2);  // (B * P, words, inner_dim)
}

TntAttentionImpl::TntAttentionImpl(const TntAttentionConfig& c) : config(c) {
  const auto C = config.dim;
  qk = register_module("qk", tnt_linear(C, 2 * C, {C, C}));
  v = register_module("v", tnt_linear(C, C));
  proj = register_module("proj", Linear(C, C));
}

torch::Tensor TntAttentionImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), T = x.size(1), H = config.heads, D = config.dim / H;
  const auto packed = torch::cat({qk(x), v(x)}, -1).view({B, T, 3, H, D});
  const auto dropout = is_training() ? config.attention_dropout : 0;
  const auto mixed = config.grid.tokens() > 0
                         ? recorded_attention(packed, config.grid, dropout, v->precision())
                         : packed_attention(packed, dropout, v->precision());
  return keyed_dropout(proj(mixed), config.dropout, is_training());  // (B, T, C)
}

TntBlockImpl::TntBlockImpl(const TntConfig& c, double drop) : config(c), drop_rate(drop) {
  const auto C = config.dim, E = config.inner_dim;
  inner_norm1 = register_module("inner_norm1", tnt_layer_norm(E));
  inner_attn = register_module("inner_attn", TntAttention(TntAttentionConfig{
                                                 .dim = E,
                                                 .heads = config.inner_heads,
                                                 .dropout = config.dropout,
                                                 .attention_dropout = config.attention_dropout}));
  inner_norm2 = register_module("inner_norm2", tnt_layer_norm(E));
  inner_mlp = register_module(
      "inner_mlp", FeedForward(FeedForwardConfig{
                       .dim = E, .hidden = config.inner_hidden, .dropout = config.dropout}));
  proj_norm1 = register_module("proj_norm1", tnt_layer_norm(config.words() * E));
  proj = register_module("proj", tnt_linear(config.words() * E, C));
  proj_norm2 = register_module("proj_norm2", tnt_layer_norm(C));
  outer_norm1 = register_module("outer_norm1", tnt_layer_norm(C));
  outer_attn = register_module(
      "outer_attn",
      TntAttention(TntAttentionConfig{.dim = C,
                                      .heads = config.heads,
                                      .dropout = config.dropout,
                                      .attention_dropout = config.attention_dropout,
                                      .grid = {config.side(), config.side(), /*prefix=*/1}}));
  outer_norm2 = register_module("outer_norm2", tnt_layer_norm(C));
  outer_mlp = register_module(
      "outer_mlp",
      FeedForward(FeedForwardConfig{.dim = C, .hidden = config.hidden, .dropout = config.dropout}));
}

torch::Tensor TntBlockImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), P = x.size(1) - 1, C = config.dim;
  const auto W = config.words(), E = config.inner_dim;
  const auto drop = [&](const torch::Tensor& branch) {
    return drop_path(branch, drop_rate, is_training());
  };
  auto inner = x.narrow(1, 1, P).narrow(2, C, W * E).reshape({B * P, W, E});
  inner = inner + drop(inner_attn(layer_norm(inner, inner_norm1)));
  inner = inner + drop(inner_mlp(layer_norm(inner, inner_norm2)));  // (B * P, W, E)

  const auto words = inner.view({B, P, W * E});
  const auto read = layer_norm(proj(layer_norm(words, proj_norm1)), proj_norm2);  // (B, P, C)
  auto outer = x.narrow(2, 0, C) + behind_class_token(read);                      // (B, 1 + P, C)
  const auto tokens = layer_norm(outer, outer_norm1);
  FeatureCapture::note(tokens);
  outer = outer + drop(outer_attn(tokens));
  outer = outer + drop(outer_mlp(layer_norm(outer, outer_norm2)));
  return tnt_stream(outer, words);
}

Tnt::Tnt(const TntConfig& c) : config(c) {
  config.validate();
  const auto C = config.dim, W = config.words(), P = config.side() * config.side();
  patch_embed = register_module("patch_embed", TntWords(config));
  proj_norm1 = register_module("proj_norm1", tnt_layer_norm(W * config.inner_dim));
  proj = register_module("proj", Linear(W * config.inner_dim, C));
  proj_norm2 = register_module("proj_norm2", tnt_layer_norm(C));
  cls_token = register_parameter("cls_token", torch::randn({1, 1, C}) * 0.02);
  outer_pos = register_parameter("outer_pos", torch::randn({1, 1 + P, C}) * 0.02);
  inner_pos = register_parameter("inner_pos", torch::randn({1, W, config.inner_dim}) * 0.02);
  blocks = register_module("blocks", BlockList());
  for (int64_t i = 0; i < config.depth; ++i)
    blocks->push_back(std::make_shared<TntBlockImpl>(
        config,
        config.depth > 1 ? config.drop_path * static_cast<double>(i) / (config.depth - 1) : 0));
  norm = register_module("norm", tnt_layer_norm(C));
  head = register_module("head", Linear(C, config.classes));
  initialize_transformer(*this);
}

torch::Tensor Tnt::features(const torch::Tensor& x) {
  const auto B = x.size(0), C = config.dim, P = config.side() * config.side();
  const auto words = (patch_embed(x) + inner_pos).reshape({B, P, -1});               // (B, P, W E)
  const auto patches = layer_norm(proj(layer_norm(words, proj_norm1)), proj_norm2);  // (B, P, C)
  auto tokens = torch::cat({cls_token.expand({B, 1, C}), patches}, 1) + outer_pos;  // (B, 1 + P, C)
  tokens = keyed_dropout(tokens, config.dropout, is_training());
  tokens = blocks->forward(tnt_stream(tokens, words), recompute_blocks).narrow(2, 0, C);
  return read_token(norm(tokens));  // (B, C)
}

torch::Tensor Tnt::logits(const torch::Tensor& features) { return head(features); }

void Tnt::reset_head(int64_t classes) {
  replace_head("head", head, classes);
  config.classes = classes;
}

torch::Tensor Tnt::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> Tnt::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

std::optional<ImageTokens> Tnt::image_tokens() const {
  return ImageTokens{config.side(), config.side(), /*field=*/config.patch, /*stride=*/config.patch};
}

}  // namespace vitrine
