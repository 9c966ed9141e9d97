#pragma once

// Pyramid Vision Transformer: Wang et al., "Pyramid Vision Transformer: A Versatile Backbone for
// Dense Prediction without Convolutions" (2021). Each stage cuts the tokens before it into patches,
// adds positions of its own and attends to reduced keys; a class token joins the last stage.
// Faithful: parameters have the names and shapes of the authors' code (as their four variants),
// with its two epsilons of LayerNorm: 1e-6 in blocks and at the end, 1e-5 behind convolutions. Not:
// the initial weights are those of this library's other transformers (Xavier, He), not normal ones
// of 0.02. Beyond the paper: any number of stages, and a variant for CIFAR-10.

#include "vitrine/core/fields.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/conv_embed.h"

namespace vitrine {

struct PvtConfig {
  int64_t image = 224;
  int64_t channels = 3;
  int64_t classes = 1000;
  // One number per stage:
  std::vector<int64_t> patches = {4, 2, 2, 2};
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
  /// Where the tokens of each stage lie.
  std::vector<TokenGrid> grids() const;
};

PvtConfig pvt_tiny();
PvtConfig pvt_small();
PvtConfig pvt_medium();
PvtConfig pvt_large();
PvtConfig pvt_c10();

/// (B, channels, image, image) -> (B, classes).
class Pvt : public Model {
 public:
  explicit Pvt(const PvtConfig& c);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override;
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  /// Of the first stage.
  std::optional<ImageTokens> image_tokens() const override;
  std::vector<torch::Tensor> position_tables() const override;
  torch::Tensor input_filters() const override;

  struct Stage {
    TokenGrid grid;
    ConvEmbed patch_embed{nullptr};  // registered as patch_embed1, ...
    torch::Tensor pos_embed{};       // (1, T, C), registered as pos_embed1, ...
    BlockList blocks{nullptr};       // registered as block1, ...
  };

  PvtConfig config;
  std::vector<Stage> stages;
  torch::Tensor cls_token;  // (1, 1, C) of the last stage
  torch::nn::LayerNorm norm{nullptr};
  Linear head{nullptr};
};

}  // namespace vitrine
