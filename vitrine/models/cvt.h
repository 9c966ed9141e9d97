#pragma once

// Convolutional vision Transformer: Wu et al., "CvT: Introducing Convolutions to Vision
// Transformers" (2021). Three stages, each of which embeds the map before it by an overlapping
// convolution and attends with convolutional projections; no positions; a class token joins the
// last stage. Faithful: names, shapes and answers of the authors' code, with its scores divided by
// the square root of the whole width and its quick GELU (x sigmoid(1.702 x)); Hugging Face's code
// computes GELU exactly (`activation: gelu`) with the same weights. Stochastic depth is in the last
// stage alone, as there. Not: the initial weights, which are those of this library's other
// transformers.
//
// CvT-13-NAS is published without weights or a list of its blocks. The paper (section 4.2) gives
// its size (18M parameters, 4.1 G multiply-adds at 224) and accuracy (82.2 %), what was searched
// for each block of CvT-13 (stride 1 or 2 of keys and values, ratio 2 or 4 of the MLP), and an
// outline: stride 2 and ratio 2 in the first and last stages, stride 1 and ratio 4 in most layers
// of the middle stage. With the three stages of CvT-13 this gives 14.1M parameters and 3.8 G; 18M
// need ratio 4 in six or seven of the ten blocks of the last. So `cvt_13_nas` reads the outline
// over the 13 blocks in their order, and which of them are the middle is our choice: 5 to 11 have
// ratio 4, of these 6 to 9 stride 1, all others 2 and 2 (17,913,512 parameters, 4.2 G). With more
// blocks of stride 1 it would exceed 4.1 G by over 3 %. No accuracy can be expected of it.

#include "vitrine/core/fields.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/conv_embed.h"
#include "vitrine/nn/feed_forward.h"

namespace vitrine {

struct CvtConfig {
  int64_t image = 224;
  int64_t channels = 3;
  int64_t classes = 1000;
  // One number per stage:
  std::vector<int64_t> kernels = {7, 3, 3};
  std::vector<int64_t> strides = {4, 2, 2};
  std::vector<int64_t> paddings = {2, 1, 1};
  std::vector<int64_t> dims = {64, 192, 384};
  std::vector<int64_t> depths = {1, 2, 10};
  std::vector<int64_t> heads = {1, 3, 6};
  // One number per stage or, all stages in order, one per block:
  std::vector<double> mlp_ratios = {4, 4, 4};
  std::vector<int64_t> kv_strides = {2, 2, 2};
  Activation activation = Activation::QuickGelu;
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

CvtConfig cvt_13();
CvtConfig cvt_21();
CvtConfig cvt_w24();
CvtConfig cvt_13_nas();
CvtConfig cvt_c10();

/// (B, channels, S, S) -> (B, T, C): embedding, class token if the grid has a prefix, blocks.
class CvtStageImpl : public torch::nn::Module {
 public:
  CvtStageImpl(const CvtConfig& c, size_t stage);
  torch::Tensor forward(const torch::Tensor& map, bool recompute);

  const TokenGrid grid;
  ConvEmbed patch_embed{nullptr};
  torch::Tensor cls_token;  // (1, 1, C), in the last stage only
  BlockList blocks{nullptr};

 private:
  const double dropout_;
};
TORCH_MODULE(CvtStage);

/// (B, channels, image, image) -> (B, classes).
class Cvt : public Model {
 public:
  explicit Cvt(const CvtConfig& c);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override;
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  /// Of the first stage.
  std::optional<ImageTokens> image_tokens() const override;
  torch::Tensor input_filters() const override;

  CvtConfig config;
  std::vector<CvtStage> stages;  // registered as stage0, ...
  torch::nn::LayerNorm norm{nullptr};
  Linear head{nullptr};
};

}  // namespace vitrine
