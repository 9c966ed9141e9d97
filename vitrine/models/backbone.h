#pragma once

// The convolutional network that stands before a ViT's patches in a hybrid: its feature map takes
// the place of the image. `Bit` is the ResNet of Kolesnikov et al., "Big Transfer" (2020), with
// blocks that end in the activation, as the published hybrids use it; `ResNet` is models/resnet.h
// without its head.

#include "vitrine/models/resnet.h"
#include "vitrine/nn/patches.h"
#include "vitrine/nn/std_conv.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

enum class BackboneKind { None, Bit, ResNet };

/// A square map of features: through the convolutions each position sees `field` x `field` pixels,
/// and neighbours see squares that are `stride` pixels apart.
struct FeatureMap {
  int64_t side = 0, channels = 0;
  int64_t field = 1, stride = 1;
};

struct BackboneConfig {
  BackboneKind kind = BackboneKind::None;
  std::vector<int64_t> blocks = {};  // residual blocks per stage; Bit can do without any
  int64_t width = 64;                // of Bit: channels after the first convolution
  Standardization standardize = Standardization::Std;
  double norm_eps = 1e-6;  // of Bit's GroupNorm
  // Of ResNet, as in ResNetConfig:
  ResNetStem stem = ResNetStem::ImageNet;
  ResNetBlock block = ResNetBlock::Basic;
  bool stride_first = false;
  bool conv_bias = false;
  double batch_norm_eps = 1e-5;

  void visit(Fields& f);
  void validate() const;
  /// What it makes of an image; without a backbone the image itself.
  FeatureMap feature_map(int64_t image, int64_t channels) const;
};

/// (B, channels, S, S) -> (B, C, S', S'), as its config's `feature_map` tells.
class BackboneImpl : public torch::nn::Module {
 public:
  explicit BackboneImpl(BackboneConfig c) : config(std::move(c)) {}
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;
  /// The kernels of the first convolution: (C, channels, k, k).
  virtual torch::Tensor input_filters() const = 0;

  const BackboneConfig config;
};
TORCH_MODULE(Backbone);

/// While it lives, the inputs of hybrids on this thread are feature maps that their backbone has
/// made before, and only what stands behind it computes.
class BackboneBypass {
 public:
  BackboneBypass();
  BackboneBypass(const BackboneBypass&) = delete;
  BackboneBypass& operator=(const BackboneBypass&) = delete;
  ~BackboneBypass();

  static bool active();

 private:
  bool outer_;
};

/// Patches of a backbone's feature map: (B, channels, S, S) -> (B, T, dim). Names follow timm's.
class HybridEmbedImpl : public PatchEmbedImpl {
 public:
  /// The config is valid and has a kind.
  HybridEmbedImpl(const BackboneConfig& c, int64_t image, int64_t channels, int64_t patch,
                  int64_t dim);
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor input_filters() const override { return backbone->input_filters(); }

  Backbone backbone{nullptr};
};
TORCH_MODULE(HybridEmbed);

}  // namespace vitrine
