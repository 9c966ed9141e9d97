#pragma once

// ResNet: He et al., "Deep Residual Learning for Image Recognition" (2016). Parameter names and
// results follow torchvision, where a bottleneck's stride is on its 3 x 3 convolution; the paper
// and its Caffe files have it on the first 1 x 1 (`stride_first`), and files of Keras have biases
// beside batch normalisation (`conv_bias`). Beyond the paper: a stem for small images (3 x 3, no
// pooling).

#include "vitrine/core/fields.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/linear.h"
#include "vitrine/nn/normed_conv.h"

namespace vitrine {

enum class ResNetStem { ImageNet, Cifar };
const Choices<ResNetStem>& resnet_stem_names();
enum class ResNetBlock { Basic, Bottleneck };
const Choices<ResNetBlock>& resnet_block_names();

struct ResNetConfig {
  int64_t image = 224;
  int64_t channels = 3;
  int64_t classes = 1000;
  ResNetStem stem = ResNetStem::ImageNet;
  ResNetBlock block = ResNetBlock::Basic;
  std::vector<int64_t> blocks = {2, 2, 2, 2};  // per stage
  bool stride_first = false;
  bool conv_bias = false;
  double norm_eps = 1e-5;

  void visit(Fields& f);
  void validate() const;
};

ResNetConfig resnet18();
ResNetConfig resnet34();
ResNetConfig resnet50();
ResNetConfig resnet101();
ResNetConfig resnet152();
/// For CIFAR-10: ResNet-18 without its last stage, whose map would be a single position.
ResNetConfig resnet_c10();

/// Two 3 x 3 convolutions beside a shortcut: (B, in, S, S) -> (B, width, S / stride, S / stride).
class BasicBlockImpl : public torch::nn::Module {
 public:
  static constexpr int64_t kExpansion = 1;
  BasicBlockImpl(const ResNetConfig& c, int64_t in, int64_t width, int64_t stride);
  torch::Tensor forward(const torch::Tensor& x);

  NormedConv conv1{nullptr}, conv2{nullptr}, shortcut{nullptr};
};
TORCH_MODULE(BasicBlock);

/// 1 x 1, 3 x 3 and 1 x 1 convolutions beside a shortcut:
/// (B, in, S, S) -> (B, 4 width, S / stride, S / stride).
class BottleneckImpl : public torch::nn::Module {
 public:
  static constexpr int64_t kExpansion = 4;
  BottleneckImpl(const ResNetConfig& c, int64_t in, int64_t width, int64_t stride);
  torch::Tensor forward(const torch::Tensor& x);

  NormedConv conv1{nullptr}, conv2{nullptr}, conv3{nullptr}, shortcut{nullptr};
};
TORCH_MODULE(Bottleneck);

/// (B, channels, image, image) -> (B, classes).
class ResNet : public Model {
 public:
  explicit ResNet(const ResNetConfig& c);
  /// What the last stage gives: (B, C, H, W).
  torch::Tensor feature_map(const torch::Tensor& x);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  torch::Tensor input_filters() const override { return conv1->weight; }
  std::optional<BackboneConfig> as_backbone() const override;

  ResNetConfig config;
  NormedConv conv1{nullptr};
  std::vector<torch::nn::Sequential> layers;  // registered as layer1 .. layer4
  Linear fc{nullptr};
};

}  // namespace vitrine
