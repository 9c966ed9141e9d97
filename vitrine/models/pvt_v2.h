#pragma once

// Pyramid Vision Transformer v2: Wang et al., "PVT v2: Improved Baselines with Pyramid Vision
// Transformer" (2022). As PVT (pvt.h), but patches overlap, a depth-wise convolution in the
// feed-forward network takes the place of positions, every stage ends with a norm, and the head
// reads the mean of the last tokens. Faithful: b0 .. b5 with the names and shapes of the authors'
// code, but for `mlp.dwconv`, which is `mlp.dwconv.dwconv` there (timm has the short one), and with
// its two epsilons of LayerNorm: 1e-6 in blocks and stages, 1e-5 behind convolutions. Not: the
// linear variant (b2_li), and the initial weights, which are those of this library's other
// transformers. Beyond the paper: other kernels and strides, and a variant for CIFAR-10.

#include "vitrine/core/fields.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/conv_embed.h"

namespace vitrine {

struct PvtV2Config {
  int64_t image = 224;
  int64_t channels = 3;
  int64_t classes = 1000;
  // One number per stage:
  std::vector<int64_t> kernels = {7, 3, 3, 3};
  std::vector<int64_t> strides = {4, 2, 2, 2};
  std::vector<int64_t> dims = {64, 128, 320, 512};
  std::vector<int64_t> depths = {2, 2, 2, 2};
  std::vector<int64_t> heads = {1, 2, 5, 8};
  std::vector<int64_t> mlp_ratios = {8, 8, 4, 4};
  std::vector<int64_t> sr_ratios = {8, 4, 2, 1};
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0;

  void visit(Fields& f);
  void validate() const;
  /// What makes the tokens of a stage, counted from 0.
  ConvEmbedConfig embed(size_t stage) const;
  /// Where the tokens of each stage lie.
  std::vector<TokenGrid> grids() const;
};

PvtV2Config pvt_v2_b0();
PvtV2Config pvt_v2_b1();
PvtV2Config pvt_v2_b2();
PvtV2Config pvt_v2_b3();
PvtV2Config pvt_v2_b4();
PvtV2Config pvt_v2_b5();
PvtV2Config pvt_v2_c10();

/// (B, channels, image, image) -> (B, classes).
class PvtV2 : public Model {
 public:
  explicit PvtV2(const PvtV2Config& c);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override;
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  /// Of the first stage.
  std::optional<ImageTokens> image_tokens() const override;
  torch::Tensor input_filters() const override;

  struct Stage {
    TokenGrid grid;
    ConvEmbed patch_embed{nullptr};      // registered as patch_embed1, ...
    BlockList blocks{nullptr};           // registered as block1, ...
    torch::nn::LayerNorm norm{nullptr};  // registered as norm1, ...
  };

  PvtV2Config config;
  std::vector<Stage> stages;
  Linear head{nullptr};
};

}  // namespace vitrine
