#include "vitrine/models/backbone.h"

#include <limits>

#include "vitrine/core/error.h"
#include "vitrine/ops/group_norm.h"
#include "vitrine/ops/in_place.h"

namespace vitrine {
namespace {

constexpr int64_t kGroups = 32;    // of every GroupNorm
constexpr int64_t kExpansion = 4;  // channels of a bottleneck's output over those inside
constexpr size_t kMaxStages = 6;
constexpr int64_t kMaxBlocks = 1000;  // per stage

thread_local bool bypassed = false;

int64_t halved(int64_t side) { return (side + 1) / 2; }

/// A layer of this kernel and stride, with padding that keeps ceil(side / stride).
void see_through(FeatureMap& map, int64_t kernel, int64_t stride) {
  map.field += (kernel - 1) * map.stride;
  map.stride *= stride;
  if (stride == 2) map.side = halved(map.side);
}

StdConv2d std_conv(const BackboneConfig& c, int64_t in, int64_t out, int64_t kernel,
                   int64_t stride) {
  return StdConv2d(StdConv2dConfig{
      .in = in, .out = out, .kernel = kernel, .stride = stride, .standardize = c.standardize});
}

/// torch's GroupNorm, with the gradient of `ops/group_norm.h`.
class MapNormImpl : public torch::nn::GroupNormImpl {
 public:
  using GroupNormImpl::GroupNormImpl;
  torch::Tensor forward(const torch::Tensor& map) {
    return group_norm(map, {options.num_groups(), weight, bias, options.eps()});
  }
};
TORCH_MODULE(MapNorm);

MapNorm map_norm(const BackboneConfig& c, int64_t channels) {
  return MapNorm(torch::nn::GroupNormOptions(kGroups, channels).eps(c.norm_eps));
}

/// A convolution and its norm, registered as `conv` and `norm`.
torch::nn::Sequential conv_and_norm(const BackboneConfig& c, int64_t in, int64_t out,
                                    int64_t kernel, int64_t stride) {
  torch::nn::Sequential layers;
  layers->push_back("conv", std_conv(c, in, out, kernel, stride));
  layers->push_back("norm", map_norm(c, out));
  return layers;
}

/// Bottleneck with the activation last: (B, in, S, S) -> (B, 4 width, S / stride, S / stride).
class BitBlockImpl : public torch::nn::Module {
 public:
  BitBlockImpl(const BackboneConfig& c, int64_t in, int64_t width, int64_t stride) {
    const auto out = kExpansion * width;
    if (stride != 1 || in != out)
      downsample = register_module("downsample", conv_and_norm(c, in, out, 1, stride));
    conv1 = register_module("conv1", std_conv(c, in, width, 1, 1));
    norm1 = register_module("norm1", map_norm(c, width));
    conv2 = register_module("conv2", std_conv(c, width, width, 3, stride));
    norm2 = register_module("norm2", map_norm(c, width));
    conv3 = register_module("conv3", std_conv(c, width, out, 1, 1));
    norm3 = register_module("norm3", map_norm(c, out));
    torch::nn::init::zeros_(norm3->weight);  // a fresh block passes its shortcut on
  }

  torch::Tensor forward(const torch::Tensor& x) {
    auto hidden = relu_in_place(norm1(conv1(x)));
    hidden = relu_in_place(norm2(conv2(hidden)));
    const auto shortcut = downsample ? downsample->forward(x) : x;
    return relu_in_place(add_in_place(norm3(conv3(hidden)), shortcut));
  }

  StdConv2d conv1{nullptr}, conv2{nullptr}, conv3{nullptr};
  MapNorm norm1{nullptr}, norm2{nullptr}, norm3{nullptr};
  torch::nn::Sequential downsample{nullptr};
};
TORCH_MODULE(BitBlock);

/// Blocks of one width; the first one may halve the map.
class BitStageImpl : public torch::nn::Module {
 public:
  BitStageImpl(const BackboneConfig& c, int64_t in, int64_t width, int64_t stride, int64_t count) {
    blocks = register_module("blocks", torch::nn::Sequential());
    for (int64_t i = 0; i < count; ++i)
      blocks->push_back(BitBlock(c, i == 0 ? in : kExpansion * width, width, i == 0 ? stride : 1));
  }
  torch::Tensor forward(const torch::Tensor& x) { return blocks->forward(x); }

  torch::nn::Sequential blocks{nullptr};
};
TORCH_MODULE(BitStage);

class BitResNet : public BackboneImpl {
 public:
  BitResNet(const BackboneConfig& c, int64_t channels) : BackboneImpl(c) {
    stem = register_module("stem", conv_and_norm(c, channels, c.width, 7, 2));
    stages = register_module("stages", torch::nn::Sequential());
    int64_t in = c.width;
    for (size_t i = 0; i < c.blocks.size(); ++i) {
      const auto width = c.width << i;
      stages->push_back(BitStage(c, in, width, i == 0 ? 1 : 2, c.blocks[i]));
      in = kExpansion * width;
    }
  }

  torch::Tensor forward(const torch::Tensor& x) override {
    constexpr int64_t kKernel = 3, kStride = 2;
    auto map = relu_in_place(stem->forward(x.contiguous(torch::MemoryFormat::ChannelsLast)));
    map = pad_same(map, kKernel, kStride, -std::numeric_limits<double>::infinity());
    map = torch::max_pool2d(map, kKernel, kStride);
    return stages->is_empty() ? map : stages->forward(map);
  }
  torch::Tensor input_filters() const override {
    const auto& conv = stem->at<StdConv2dImpl>(0);
    return standardized(conv.weight, conv.config.standardize);
  }

  torch::nn::Sequential stem{nullptr}, stages{nullptr};
};

ResNetConfig resnet_config(const BackboneConfig& c, int64_t image, int64_t channels) {
  return {.image = image,
          .channels = channels,
          .stem = c.stem,
          .block = c.block,
          .blocks = c.blocks,
          .stride_first = c.stride_first,
          .conv_bias = c.conv_bias,
          .norm_eps = c.batch_norm_eps};
}

/// Registers what comes before a ResNet's head, under the names that it has there.
class ResNetBackbone : public BackboneImpl {
 public:
  ResNetBackbone(const BackboneConfig& c, int64_t image, int64_t channels)
      : BackboneImpl(c), net(resnet_config(c, image, channels)) {
    for (const auto& child : net.named_children())
      if (child.value() != net.fc.ptr()) register_module(child.key(), child.value());
  }
  torch::Tensor forward(const torch::Tensor& x) override { return net.feature_map(x); }
  torch::Tensor input_filters() const override { return net.input_filters(); }

  ResNet net;
};

std::shared_ptr<BackboneImpl> make_backbone(const BackboneConfig& c, int64_t image,
                                            int64_t channels) {
  if (c.kind == BackboneKind::Bit) return std::make_shared<BitResNet>(c, channels);
  return std::make_shared<ResNetBackbone>(c, image, channels);
}

}  // namespace

void BackboneConfig::visit(Fields& f) {
  f("kind", kind,
    Choices<BackboneKind>{
        {"none", BackboneKind::None}, {"bit", BackboneKind::Bit}, {"resnet", BackboneKind::ResNet}},
    "none; bit: ResNet with weight standardisation and GroupNorm; resnet: ResNet with BatchNorm");
  f("blocks", blocks, "residual blocks per stage; each stage but the first halves the map");
  f("width", width, "bit: channels after the first convolution; a multiple of 32");
  f("standardize", standardize, standardization_names(),
    "bit: kernels are divided by std + 1e-5 (std) or sqrt(var + 1e-8) (variance, as in timm)");
  f("norm_eps", norm_eps, "bit: epsilon of GroupNorm");
  f("stem", stem, resnet_stem_names(),
    "resnet: first layers: 7 x 7 with pooling, or 3 x 3 for small images");
  f("block", block, resnet_block_names(),
    "resnet: residual block: two 3 x 3 convolutions, or 1 x 1, 3 x 3 and 1 x 1");
  f("stride_first", stride_first,
    "resnet: the stride of a bottleneck is on its first convolution (Caffe, Keras)");
  f("conv_bias", conv_bias, "resnet: convolutions have a bias (Keras)");
  f("batch_norm_eps", batch_norm_eps, "resnet: epsilon of batch normalisation");
}

void BackboneConfig::validate() const {
  if (kind == BackboneKind::None) return;
  check(blocks.size() <= kMaxStages, "backbone: {} stages of blocks; {} at most", blocks.size(),
        kMaxStages);
  for (const auto n : blocks)
    check(n > 0 && n <= kMaxBlocks, "backbone: a stage of {} blocks; 1 to {} are possible", n,
          kMaxBlocks);
  if (kind == BackboneKind::Bit)
    check(width > 0 && width % kGroups == 0 && width <= std::numeric_limits<int32_t>::max(),
          "backbone: width {} is not a multiple of {}, the groups of GroupNorm", width, kGroups);
  else
    check(!blocks.empty(),
          "backbone: blocks is empty; list the blocks of each stage, such as [2, 2]");
  check(batch_norm_eps > 0, "backbone: batch_norm_eps {} must be positive", batch_norm_eps);
}

FeatureMap BackboneConfig::feature_map(int64_t image, int64_t channels) const {
  FeatureMap map{.side = image, .channels = channels};
  if (kind == BackboneKind::None) return map;
  const bool bit = kind == BackboneKind::Bit;
  const bool bottleneck = bit || block == ResNetBlock::Bottleneck;
  const bool stride_apart = !bit && bottleneck && stride_first;  // on a 1 x 1 before the 3 x 3
  const auto first_width = bit ? width : int64_t{64};
  map.channels = first_width;
  if (bit || stem == ResNetStem::ImageNet) {
    see_through(map, /*kernel=*/7, /*stride=*/2);
    see_through(map, /*kernel=*/3, /*stride=*/2);  // pooling
  } else {
    see_through(map, /*kernel=*/3, /*stride=*/1);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const int64_t stride = i == 0 ? 1 : 2;
    if (stride_apart) see_through(map, /*kernel=*/1, stride);
    see_through(map, /*kernel=*/3, stride_apart ? 1 : stride);
    const auto further = blocks[i] * (bottleneck ? 1 : 2) - 1;  // 3 x 3 convolutions of the stage
    map.field += 2 * further * map.stride;
    map.channels = (first_width << i) * (bottleneck ? kExpansion : 1);
  }
  return map;
}

BackboneBypass::BackboneBypass() : outer_(bypassed) { bypassed = true; }
BackboneBypass::~BackboneBypass() { bypassed = outer_; }
bool BackboneBypass::active() { return bypassed; }

HybridEmbedImpl::HybridEmbedImpl(const BackboneConfig& c, int64_t image, int64_t channels,
                                 int64_t patch, int64_t dim)
    : PatchEmbedImpl(c.feature_map(image, channels).channels, patch, dim) {
  backbone = register_module("backbone", Backbone(make_backbone(c, image, channels)));
}

torch::Tensor HybridEmbedImpl::forward(const torch::Tensor& x) {
  return PatchEmbedImpl::forward(BackboneBypass::active() ? x : backbone->forward(x));
}

}  // namespace vitrine
