#include "vitrine/models/swin.h"

#include <numeric>

#include "vitrine/core/checks.h"
#include "vitrine/nn/initialize.h"
#include "vitrine/nn/readout.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {
namespace {

constexpr int64_t kMaxSwinStages = 6;

torch::nn::LayerNorm token_norm(int64_t dim) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}));
}

/// Every second block shifts its windows, unless one window is the whole grid.
WindowAttention make_attention(const SwinConfig& c, int64_t stage, int64_t block) {
  const auto side = c.side_of(stage), window = c.window_of(stage);
  const WindowAttentionConfig attention = {
      .dim = c.dim_of(stage),
      .heads = c.heads[stage],
      .windows = {.side = side,
                  .window = window,
                  .shift = block % 2 == 1 && window < side ? window / 2 : 0},
      .dropout = c.dropout,
      .attention_dropout = c.attention_dropout};
  std::shared_ptr<WindowAttentionImpl> made;
  if (c.version == SwinVersion::V1)
    made = std::make_shared<TableWindowAttentionImpl>(attention);
  else
    made = std::make_shared<CosineWindowAttentionImpl>(
        attention, c.pretrained_windows.empty() ? 0 : c.pretrained_windows[stage]);
  return WindowAttention(made);
}

SwinConfig small_images(SwinConfig c) {
  c.image = 32;
  c.patch = 2;
  c.classes = 10;
  c.dim = 48;
  c.depths = {2, 2, 2};
  c.heads = {2, 4, 8};
  c.window = 4;
  c.drop_path = 0;
  return c;
}

SwinConfig second_version(SwinConfig c) {
  c.version = SwinVersion::V2;
  c.image = 256;
  c.window = 8;
  return c;
}

}  // namespace

void SwinConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("patch", patch, "side of a patch in pixels");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("dim", dim, "embedding dimension of the first stage; each later one doubles it");
  f("depths", depths, "blocks per stage");
  f("heads", heads, "attention heads per stage; must divide the stage's dimension");
  f("window", window, "side of the windows of attention in tokens");
  f("mlp_ratio", mlp_ratio, "hidden size of the feed-forward network in embedding dimensions");
  f("version", version, Choices<SwinVersion>{{"v1", SwinVersion::V1}, {"v2", SwinVersion::V2}},
    "Swin, or Swin v2 with cosine attention and norms behind the sublayers");
  f("pretrained_windows", pretrained_windows,
    "v2: per stage, the window of the weights to be fine-tuned; empty = as now");
  f("dropout", dropout, "dropout after the patches, the projections and the feed-forward layers");
  f("attention_dropout", attention_dropout, "dropout on the attention weights");
  f("drop_path", drop_path, "stochastic depth of the last block, growing linearly from 0");
}

void SwinConfig::validate() const {
  check(
      image > 0 && patch > 0 && channels > 0 && classes > 0 && dim > 0 && window > 0 &&
          mlp_ratio > 0,
      "swin: image {}, patch {}, channels {}, classes {}, dim {}, window {} and mlp_ratio {} must "
      "be positive",
      image, patch, channels, classes, dim, window, mlp_ratio);
  check_stages("swin", {{"depths", depths}, {"heads", heads}});
  check(stages() <= kMaxSwinStages, "swin: depths names {} stages; {} at most", stages(),
        kMaxSwinStages);
  check(pretrained_windows.empty() || std::ssize(pretrained_windows) == stages(),
        "swin: pretrained_windows has {} numbers for {} stages; give one for each stage or none",
        pretrained_windows.size(), stages());
  check(pretrained_windows.empty() || version == SwinVersion::V2,
        "swin: pretrained_windows is for version v2; leave it out");
  for (const auto w : pretrained_windows)
    check(w > 0, "swin: a pretrained window of {} must be positive", w);
  check(image % patch == 0 && side_of(0) % (int64_t{1} << (stages() - 1)) == 0,
        "swin: image {} does not give {} stages, each with half the side of the one before, of "
        "patches of {}; choose a multiple of {}",
        image, stages(), patch, patch << (stages() - 1));
  for (int64_t s = 0; s < stages(); ++s) {
    check(side_of(s) % window_of(s) == 0,
          "swin: window {} does not divide the {} x {} tokens of stage {}; choose another one",
          window, side_of(s), side_of(s), s + 1);
    check(dim_of(s) % heads[s] == 0,
          "swin: the dimension {} of stage {} is not a multiple of its heads {}", dim_of(s), s + 1,
          heads[s]);
  }
  check_fraction("swin", "dropout", dropout);
  check_fraction("swin", "attention_dropout", attention_dropout);
  check_fraction("swin", "drop_path", drop_path);
}

SwinConfig swin_t() { return {}; }

SwinConfig swin_s() { return {.depths = {2, 2, 18, 2}, .drop_path = 0.3}; }

SwinConfig swin_b() {
  return {.dim = 128, .depths = {2, 2, 18, 2}, .heads = {4, 8, 16, 32}, .drop_path = 0.5};
}

SwinConfig swin_l() { return {.dim = 192, .depths = {2, 2, 18, 2}, .heads = {6, 12, 24, 48}}; }

SwinConfig swin_v2_t() { return second_version(swin_t()); }
SwinConfig swin_v2_s() { return second_version(swin_s()); }
SwinConfig swin_v2_b() { return second_version(swin_b()); }

SwinConfig swin_c10() { return small_images(swin_t()); }
SwinConfig swin_v2_c10() { return small_images(swin_v2_t()); }

SwinBlockImpl::SwinBlockImpl(const SwinConfig& c, int64_t stage, int64_t block, double p)
    : version(c.version), drop(p) {
  const auto dim = c.dim_of(stage);
  norm1 = register_module("norm1", token_norm(dim));
  attn = register_module("attn", make_attention(c, stage, block));
  norm2 = register_module("norm2", token_norm(dim));
  mlp = register_module("mlp", FeedForward(FeedForwardConfig{
                                   .dim = dim, .hidden = c.mlp_ratio * dim, .dropout = c.dropout}));
}

torch::Tensor SwinBlockImpl::forward(const torch::Tensor& x) {
  const auto residual = [&](const torch::Tensor& in, const torch::nn::LayerNorm& norm,
                            auto& sublayer) {
    const auto branch = version == SwinVersion::V1 ? sublayer->forward(layer_norm(in, norm))
                                                   : layer_norm(sublayer->forward(in), norm);
    return in + drop_path(branch, drop, is_training());
  };
  return residual(residual(x, norm1, attn), norm2, mlp);
}

PatchMergingImpl::PatchMergingImpl(int64_t s, int64_t dim, SwinVersion v) : side(s), version(v) {
  norm = register_module("norm", token_norm(version == SwinVersion::V1 ? 4 * dim : 2 * dim));
  reduction = register_module("reduction",
                              Linear(LinearConfig{.in = 4 * dim, .out = 2 * dim, .bias = false}));
}

torch::Tensor PatchMergingImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), C = x.size(2), half = side / 2;
  const auto squares = x.view({B, half, 2, half, 2, C})
                           .permute({0, 1, 3, 4, 2, 5})  // of a square's tokens, column by column
                           .reshape({B, half * half, 4 * C});
  return version == SwinVersion::V1 ? reduction(layer_norm(squares, norm))
                                    : layer_norm(reduction(squares), norm);
}

SwinStageImpl::SwinStageImpl(const SwinConfig& c, int64_t stage) {
  const auto begin = c.depths.begin();
  const auto before = std::accumulate(begin, begin + stage, int64_t{0});
  const auto all = std::accumulate(begin, c.depths.end(), int64_t{0});
  blocks = register_module("blocks", BlockList());
  for (int64_t i = 0; i < c.depths[stage]; ++i)
    blocks->push_back(
        std::make_shared<SwinBlockImpl>(c, stage, i, drop_path_of(c.drop_path, before + i, all)));
  if (stage + 1 < c.stages())
    downsample =
        register_module("downsample", PatchMerging(c.side_of(stage), c.dim_of(stage), c.version));
}

torch::Tensor SwinStageImpl::forward(const torch::Tensor& x, bool recompute) {
  const auto tokens = blocks->forward(x, recompute);
  return downsample ? downsample(tokens) : tokens;
}

Swin::Swin(const SwinConfig& c) : config(c) {
  config.validate();
  patch_embed =
      register_module("patch_embed", NormedPatchEmbed(config.channels, config.patch, config.dim));
  auto layers = register_module("layers", torch::nn::ModuleList());
  for (int64_t s = 0; s < config.stages(); ++s) {
    stages.emplace_back(config, s);
    layers->push_back(stages.back());
  }
  const auto dim = config.dim_of(config.stages() - 1);
  norm = register_module("norm", token_norm(dim));
  head = register_module("head", Linear(dim, config.classes));
  initialize_transformer(*this);
}

torch::Tensor Swin::features(const torch::Tensor& x) {
  auto tokens = keyed_dropout(patch_embed(x), config.dropout, is_training());  // (B, T, C)
  for (auto& stage : stages) tokens = stage->forward(tokens, recompute_blocks);
  return read_mean(layer_norm(tokens, norm));  // (B, C of the last stage)
}

torch::Tensor Swin::logits(const torch::Tensor& features) { return head(features); }

void Swin::reset_head(int64_t classes) {
  replace_head("head", head, classes);
  config.classes = classes;
}

BlockListImpl::Blocks Swin::blocks_in_order() const {
  BlockListImpl::Blocks all;
  for (const auto& stage : stages)
    all.insert(all.end(), stage->blocks->begin(), stage->blocks->end());
  return all;
}

torch::Tensor Swin::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> Swin::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

std::optional<ImageTokens> Swin::image_tokens() const {
  const auto side = config.side_of(0);
  return ImageTokens{side, side, /*field=*/config.patch, /*stride=*/config.patch};
}

}  // namespace vitrine
