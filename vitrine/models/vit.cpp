#include "vitrine/models/vit.h"

#include "vitrine/core/checks.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/readout.h"
#include "vitrine/ops/activation.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {
namespace {

VitConfig with_distillation(VitConfig c) {
  c.distilled = true;
  return c;
}

}  // namespace

void VitConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("patch", patch, "side of a patch in pixels, or in positions of the backbone's feature map");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("dim", dim, "embedding dimension");
  f("depth", depth, "blocks");
  f("heads", heads, "attention heads; must divide dim");
  f("hidden", hidden, "hidden size of the feed-forward network (MLP)");
  f("positions", positions, positional_encoding_names(), "positional encoding");
  f("pool", pool, Choices<Pool>{{"token", Pool::Token}, {"mean", Pool::Mean}},
    "what the head reads: the class token or the mean of all tokens");
  f("head", head,
    Choices<VitHead>{{"linear", VitHead::Linear}, {"token_gelu_norm", VitHead::TokenGeluNorm}},
    "the classifier");
  f("norm", norm, norm_position_names(),
    "pre-norm or post-norm: LayerNorm before or after each sublayer");
  f("activation", activation, activation_names(),
    "activation function of the feed-forward network");
  f("dropout", dropout,
    "dropout after the positional encoding, the projections and the feed-forward layers");
  f("attention_dropout", attention_dropout, "dropout on the attention weights");
  f("drop_path", drop_path, "stochastic depth of the last block, growing linearly from 0");
  f("norm_eps", norm_eps, "epsilon of LayerNorm");
  f("layer_scale", layer_scale, "initial value of LayerScale after each sublayer; 0 = none");
  f("class_position", class_position, "the class token has a position");
  f("distilled", distilled,
    "a distillation token with a head of its own, as in DeiT; the answer is the mean of both "
    "heads");
  f.group("attention", attention, "kind of self-attention");
  f.group("backbone", backbone, "convolutional network whose feature map is cut into patches");
}

void VitConfig::validate() const {
  check(image > 0 && patch > 0 && channels > 0 && classes > 0 && depth > 0 && hidden > 0,
        "vit: image {}, patch {}, channels {}, classes {}, depth {} and hidden {} must be positive",
        image, patch, channels, classes, depth, hidden);
  backbone.validate();
  const auto map = backbone.feature_map(image, channels);
  check(map.side % patch == 0,
        "vit: patch {} does not divide {} {}; choose a patch that divides the {}'s side", patch,
        backbone.kind == BackboneKind::None ? "image" : "the backbone's feature map of side",
        map.side, backbone.kind == BackboneKind::None ? "image" : "map");
  check(positions != PositionalEncoding::Relative,
        "vit: relative positions are for sequences; choose one of the others");
  check_fraction("vit", "dropout", dropout);
  check_fraction("vit", "attention_dropout", attention_dropout);
  check_fraction("vit", "drop_path", drop_path);
  check(norm_eps > 0, "vit: norm_eps {:g} must be positive", norm_eps);
  check(layer_scale >= 0, "vit: layer_scale {} is negative; 0 is for none", layer_scale);
  check(heads > 0 && dim % heads == 0,
        "vit: dim {} is not a multiple of heads {}; choose heads that divide the width", dim,
        heads);
  check(head == VitHead::Linear || pool == Pool::Token,
        "vit: head token_gelu_norm reads the class token; set pool to token");
  check(!distilled || (head == VitHead::Linear && pool == Pool::Token),
        "vit: a distilled model reads its class token by a linear head; set pool to token and head "
        "to linear");
}

ImageTokens VitConfig::tokens() const {
  const auto map = backbone.feature_map(image, channels);
  const auto side = map.side / patch;
  return {.rows = side,
          .columns = side,
          .field = std::min(map.field + (patch - 1) * map.stride, image),
          .stride = patch * map.stride};
}

VitConfig vit_b16() { return {}; }

VitConfig vit_b32() { return {.patch = 32}; }

VitConfig vit_ti16() { return {.dim = 192, .heads = 3, .hidden = 768}; }

VitConfig vit_s16() { return {.dim = 384, .heads = 6, .hidden = 1536}; }

VitConfig vit_l16() { return {.dim = 1024, .depth = 24, .heads = 16, .hidden = 4096}; }

VitConfig vit_h14() { return {.patch = 14, .dim = 1280, .depth = 32, .heads = 16, .hidden = 5120}; }

VitConfig deit_ti16_distilled() { return with_distillation(vit_ti16()); }

VitConfig deit_s16_distilled() { return with_distillation(vit_s16()); }

VitConfig deit_b16_distilled() { return with_distillation(vit_b16()); }

VitConfig vit_c10_302m() {
  return {.image = 32,
          .patch = 8,
          .classes = 10,
          .dim = 1024,
          .depth = 24,
          .heads = 16,
          .hidden = 4096,
          .positions = PositionalEncoding::Sinusoidal,
          .head = VitHead::TokenGeluNorm,
          .dropout = 0.1};
}

VitConfig vit_c10_small() {
  return {
      .image = 32, .patch = 4, .classes = 10, .dim = 192, .depth = 9, .heads = 3, .hidden = 768};
}

VitConfig vit_c10_tiny() {
  return {
      .image = 32, .patch = 4, .classes = 10, .dim = 128, .depth = 4, .heads = 4, .hidden = 256};
}

TokenGeluNormHeadImpl::TokenGeluNormHeadImpl(int64_t dim, int64_t classes, double p) : dropout(p) {
  fc = register_module("fc", Linear(dim, classes));
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({classes})));
}

torch::Tensor TokenGeluNormHeadImpl::forward(const torch::Tensor& x) {
  const auto token_logits =
      keyed_dropout(activate(fc(x), Activation::Gelu), dropout, is_training());  // (B, T, N)
  return norm(read_token(token_logits));                                         // (B, N)
}

torch::Tensor TokenGeluNormHeadImpl::logits(const torch::Tensor& token) {
  return norm(keyed_dropout(activate(fc(token), Activation::Gelu), dropout, is_training()));
}

Vit::Vit(const VitConfig& c) : config(c) {
  config.validate();
  const int64_t side = config.tokens().rows;
  const int64_t prefix = config.prefix();
  patch_embed = register_module("patch_embed", make_patch_embed());
  if (prefix > 0)
    cls_token = register_parameter("cls_token", torch::randn({1, 1, config.dim}) * 0.02);
  if (config.distilled)
    dist_token = register_parameter("dist_token", torch::randn({1, 1, config.dim}) * 0.02);
  positions = PositionEmbedding(*this, {.kind = config.positions,
                                        .rows = side,
                                        .columns = side,
                                        .prefix = config.class_position ? prefix : 0,
                                        .dim = config.dim});
  const EncoderBlockConfig block = {.dim = config.dim,
                                    .heads = config.heads,
                                    .hidden = config.hidden,
                                    .activation = config.activation,
                                    .norm = config.norm,
                                    .norm_eps = config.norm_eps,
                                    .dropout = config.dropout,
                                    .attention_dropout = config.attention_dropout,
                                    .drop_path = config.drop_path,
                                    .layer_scale = config.layer_scale,
                                    .attention = config.attention,
                                    .grid = {side, side, prefix}};
  blocks = register_module("blocks", encoder_blocks(block, config.depth));
  norm = register_module(
      "norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.dim}).eps(config.norm_eps)));
  if (config.head == VitHead::Linear)
    head = register_module("head", Linear(config.dim, config.classes));
  else
    token_head = register_module("token_head",
                                 TokenGeluNormHead(config.dim, config.classes, config.dropout));
  if (config.distilled)
    head_dist = register_module("head_dist", Linear(config.dim, config.classes));
  initialize_transformer(*this);
}

PatchEmbed Vit::make_patch_embed() {
  const auto& c = config;
  if (c.backbone.kind == BackboneKind::None) return PatchEmbed(c.channels, c.patch, c.dim);
  const auto hybrid =
      std::make_shared<HybridEmbedImpl>(c.backbone, c.image, c.channels, c.patch, c.dim);
  backbone_ = hybrid->backbone.ptr();
  return PatchEmbed(std::static_pointer_cast<PatchEmbedImpl>(hybrid));
}

torch::Tensor Vit::tokens_of(const torch::Tensor& x) {
  auto tokens = patch_embed(x);  // (B, R * L, C)
  if (!config.class_position) tokens = positions(tokens);
  for (const auto& token : {dist_token, cls_token})  // class, distillation, patches
    if (token.defined())
      tokens = torch::cat({token.expand({x.size(0), 1, config.dim}), tokens}, 1);  // (B, T, C)
  if (config.class_position) tokens = positions(tokens);
  tokens = keyed_dropout(tokens, config.dropout, is_training());
  return norm(blocks->forward(tokens, recompute_blocks));
}

torch::Tensor Vit::forward(const torch::Tensor& x) {
  return token_head ? token_head(tokens_of(x)) : logits(features(x));  // (B, N)
}

torch::Tensor Vit::features(const torch::Tensor& x) {
  const auto tokens = tokens_of(x);
  if (head_dist) return read_first_tokens(tokens, config.prefix());     // (B, 2 C)
  return cls_token.defined() ? read_token(tokens) : read_mean(tokens);  // (B, C)
}

torch::Tensor Vit::logits(const torch::Tensor& features) {
  if (head_dist) {
    const auto both = logits_by_head(features);
    return (both[0] + both[1]) / 2;
  }
  return token_head ? token_head->logits(features) : head(features);
}

std::vector<torch::Tensor> Vit::logits_by_head(const torch::Tensor& features) {
  if (!head_dist) return {logits(features)};
  const auto C = config.dim;
  return {head(features.narrow(1, 0, C)), head_dist(features.narrow(1, C, C))};
}

void Vit::reset_head(int64_t classes) {
  check(config.head == VitHead::Linear,
        "reset_head: head token_gelu_norm normalises over its classes and cannot start at zero; "
        "build the model with head linear");
  replace_head("head", head, classes);
  if (head_dist) replace_head("head_dist", head_dist, classes);
  config.classes = classes;
}

torch::Tensor Vit::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> Vit::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

std::optional<ImageTokens> Vit::image_tokens() const { return config.tokens(); }

}  // namespace vitrine
