#pragma once

// Swin Transformer: Liu et al., "Swin Transformer: Hierarchical Vision Transformer using Shifted
// Windows" (2021), and "Swin Transformer V2: Scaling Up Capacity and Resolution" (2022). Faithful:
// stages whose tokens are merged four by four, attention in windows that shift in every second
// block, biases by relative position; of version 2 cosine attention, biases of a small network and
// norms behind the sublayers. Parameters have the names and shapes of Microsoft's code. Not:
// initial weights are those of our other transformers, and the blocks of version 2 do not start
// with norms of zero. As in that code, images must fill whole windows, and a window that is larger
// than the grid shrinks to it.

#include <algorithm>

#include "vitrine/models/model.h"
#include "vitrine/nn/feed_forward.h"
#include "vitrine/nn/patches.h"
#include "vitrine/nn/window_attention.h"

namespace vitrine {

enum class SwinVersion { V1, V2 };

struct SwinConfig {
  int64_t image = 224;
  int64_t patch = 4;
  int64_t channels = 3;
  int64_t classes = 1000;
  int64_t dim = 96;                             // in the first stage; each later one doubles it
  std::vector<int64_t> depths = {2, 2, 6, 2};   // blocks per stage
  std::vector<int64_t> heads = {3, 6, 12, 24};  // per stage
  int64_t window = 7;
  int64_t mlp_ratio = 4;
  SwinVersion version = SwinVersion::V1;
  std::vector<int64_t> pretrained_windows{};  // of version 2, per stage
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0.2;

  void visit(Fields& f);
  void validate() const;

  int64_t stages() const { return std::ssize(depths); }
  int64_t dim_of(int64_t stage) const { return dim << stage; }
  /// The side of a stage's grid of tokens.
  int64_t side_of(int64_t stage) const { return (image / patch) >> stage; }
  int64_t window_of(int64_t stage) const { return std::min(window, side_of(stage)); }
};

SwinConfig swin_t();
SwinConfig swin_s();
SwinConfig swin_b();
SwinConfig swin_l();
SwinConfig swin_v2_t();
SwinConfig swin_v2_s();
SwinConfig swin_v2_b();
SwinConfig swin_c10();
SwinConfig swin_v2_c10();

/// Attention in windows and feed-forward, each with a residual: (B, T, C) -> (B, T, C). Version 1:
/// x + f(norm(x)); version 2: x + norm(f(x)).
class SwinBlockImpl : public BlockImpl {
 public:
  /// `block` is counted within its stage, `drop` is its stochastic depth.
  SwinBlockImpl(const SwinConfig& c, int64_t stage, int64_t block, double drop);
  torch::Tensor forward(const torch::Tensor& x) override;

  const SwinVersion version;
  const double drop;
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  WindowAttention attn{nullptr};
  FeedForward mlp{nullptr};
};
TORCH_MODULE(SwinBlock);

/// Each square of four tokens becomes one: (B, T, C) -> (B, T / 4, 2 C). Version 1 normalises
/// before the projection, version 2 after it.
class PatchMergingImpl : public torch::nn::Module {
 public:
  PatchMergingImpl(int64_t side, int64_t dim, SwinVersion version);
  torch::Tensor forward(const torch::Tensor& x);

  const int64_t side;
  const SwinVersion version;
  torch::nn::LayerNorm norm{nullptr};
  Linear reduction{nullptr};
};
TORCH_MODULE(PatchMerging);

/// Blocks on one grid, and the merging that leads to the next.
class SwinStageImpl : public torch::nn::Module {
 public:
  SwinStageImpl(const SwinConfig& c, int64_t stage);
  torch::Tensor forward(const torch::Tensor& x, bool recompute);

  BlockList blocks{nullptr};
  PatchMerging downsample{nullptr};  // in all stages but the last
};
TORCH_MODULE(SwinStage);

/// (B, channels, image, image) -> (B, classes).
class Swin : public Model {
 public:
  explicit Swin(const SwinConfig& c);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override;
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  std::optional<ImageTokens> image_tokens() const override;
  torch::Tensor input_filters() const override { return patch_embed->input_filters(); }

  SwinConfig config;
  NormedPatchEmbed patch_embed{nullptr};
  std::vector<SwinStage> stages;  // registered as layers.0, layers.1, ...
  torch::nn::LayerNorm norm{nullptr};
  Linear head{nullptr};
};

}  // namespace vitrine
