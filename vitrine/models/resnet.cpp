#include "vitrine/models/resnet.h"

#include "vitrine/core/error.h"
#include "vitrine/models/backbone.h"
#include "vitrine/nn/readout.h"

namespace vitrine {
namespace {

/// Registers a convolution and its norm, under these names.
NormedConv conv(torch::nn::Module& owner, const std::string& name, const std::string& norm_name,
                const ResNetConfig& c, int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  const torch::nn::BatchNorm2d norm(torch::nn::BatchNorm2dOptions(out).eps(c.norm_eps));
  const auto options = torch::nn::Conv2dOptions(in, out, kernel)
                           .stride(stride)
                           .padding(kernel / 2)
                           .bias(c.conv_bias);
  const auto layer = owner.register_module(name, NormedConv(options, norm));
  owner.register_module(norm_name, norm);
  return layer;
}

/// Brings a block's input to the shape of its output; null if it has that already.
NormedConv shortcut_of(torch::nn::Module& block, const ResNetConfig& c, int64_t in, int64_t out,
                       int64_t stride) {
  if (stride == 1 && in == out) return nullptr;
  const auto downsample =
      block.register_module("downsample", std::make_shared<torch::nn::Module>("downsample"));
  return conv(*downsample, "0", "1", c, in, out, 1, stride);
}

/// The blocks of one stage, the first of which has the stride; `channels` follows.
template <typename Block>
torch::nn::Sequential stage(const ResNetConfig& c, int64_t blocks, int64_t width, int64_t stride,
                            int64_t& channels) {
  torch::nn::Sequential layer;
  for (int64_t i = 0; i < blocks; ++i) {
    layer->push_back(Block(c, channels, width, i == 0 ? stride : 1));
    channels = width * Block::Impl::kExpansion;
  }
  return layer;
}

ResNetConfig bottlenecks(std::vector<int64_t> blocks) {
  ResNetConfig c;
  c.block = ResNetBlock::Bottleneck;
  c.blocks = std::move(blocks);
  return c;
}

}  // namespace

const Choices<ResNetStem>& resnet_stem_names() {
  static const Choices<ResNetStem> names = {{"imagenet", ResNetStem::ImageNet},
                                            {"cifar", ResNetStem::Cifar}};
  return names;
}

const Choices<ResNetBlock>& resnet_block_names() {
  static const Choices<ResNetBlock> names = {{"basic", ResNetBlock::Basic},
                                             {"bottleneck", ResNetBlock::Bottleneck}};
  return names;
}

void ResNetConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("stem", stem, resnet_stem_names(),
    "first layers: 7 x 7 with pooling, or 3 x 3 for small images");
  f("block", block, resnet_block_names(),
    "residual block: two 3 x 3 convolutions, or 1 x 1, 3 x 3 and 1 x 1");
  f("blocks", blocks, "residual blocks per stage");
  f("stride_first", stride_first,
    "the stride of a bottleneck is on its first 1 x 1 convolution (Caffe, Keras) and not on the "
    "3 x 3 (torchvision)");
  f("conv_bias", conv_bias, "convolutions have a bias beside batch normalisation (Keras)");
  f("norm_eps", norm_eps, "epsilon of batch normalisation");
}

void ResNetConfig::validate() const {
  check(image > 0 && channels > 0 && classes > 0,
        "resnet: image {}, channels {} and classes {} must be positive", image, channels, classes);
  check(!blocks.empty(), "resnet: blocks is empty; list the blocks of each stage, such as [2, 2]");
  for (const auto n : blocks) check(n > 0, "resnet: a stage of {} blocks must have at least 1", n);
  check(norm_eps > 0, "resnet: norm_eps {} must be positive", norm_eps);
}

ResNetConfig resnet18() { return {}; }

ResNetConfig resnet34() {
  ResNetConfig c;
  c.blocks = {3, 4, 6, 3};
  return c;
}

ResNetConfig resnet50() { return bottlenecks({3, 4, 6, 3}); }
ResNetConfig resnet101() { return bottlenecks({3, 4, 23, 3}); }
ResNetConfig resnet152() { return bottlenecks({3, 8, 36, 3}); }

ResNetConfig resnet_c10() { return {.image = 32, .classes = 10, .blocks = {2, 2, 2}}; }

BasicBlockImpl::BasicBlockImpl(const ResNetConfig& c, int64_t in, int64_t width, int64_t stride) {
  conv1 = conv(*this, "conv1", "bn1", c, in, width, 3, stride);
  conv2 = conv(*this, "conv2", "bn2", c, width, width, 3, 1);
  shortcut = shortcut_of(*this, c, in, width, stride);
}

torch::Tensor BasicBlockImpl::forward(const torch::Tensor& x) {
  return conv2->relu(conv1->relu(x), shortcut ? shortcut(x) : x);
}

BottleneckImpl::BottleneckImpl(const ResNetConfig& c, int64_t in, int64_t width, int64_t stride) {
  const int64_t out = kExpansion * width;
  conv1 = conv(*this, "conv1", "bn1", c, in, width, 1, c.stride_first ? stride : 1);
  conv2 = conv(*this, "conv2", "bn2", c, width, width, 3, c.stride_first ? 1 : stride);
  conv3 = conv(*this, "conv3", "bn3", c, width, out, 1, 1);
  shortcut = shortcut_of(*this, c, in, out, stride);
}

torch::Tensor BottleneckImpl::forward(const torch::Tensor& x) {
  return conv3->relu(conv2->relu(conv1->relu(x)), shortcut ? shortcut(x) : x);
}

ResNet::ResNet(const ResNetConfig& c) : config(c) {
  config.validate();
  const bool small = config.stem == ResNetStem::Cifar;
  conv1 = conv(*this, "conv1", "bn1", config, config.channels, 64, small ? 3 : 7, small ? 1 : 2);
  int64_t width = 64;
  for (size_t i = 0; i < config.blocks.size(); ++i) {
    const auto make =
        config.block == ResNetBlock::Bottleneck ? stage<Bottleneck> : stage<BasicBlock>;
    layers.push_back(
        register_module("layer" + std::to_string(i + 1),
                        make(config, config.blocks[i], 64 << i, i > 0 ? 2 : 1, width)));
  }
  fc = register_module("fc", Linear(width, config.classes));
  for (const auto& module : modules(/*include_self=*/false))
    if (auto* child = module->as<torch::nn::Conv2d>())
      torch::nn::init::kaiming_normal_(child->weight, 0, torch::kFanOut, torch::kReLU);
}

torch::Tensor ResNet::feature_map(const torch::Tensor& x) {
  auto map = conv1->relu(x.contiguous(torch::MemoryFormat::ChannelsLast));
  if (config.stem == ResNetStem::ImageNet)
    map = torch::max_pool2d(map, /*kernel=*/3, /*stride=*/2, /*padding=*/1);
  for (auto& layer : layers) map = layer->forward(map);
  return map;
}

torch::Tensor ResNet::features(const torch::Tensor& x) {
  return read_map(feature_map(x));  // (B, C)
}

torch::Tensor ResNet::logits(const torch::Tensor& features) { return fc(features); }

void ResNet::reset_head(int64_t classes) {
  replace_head("fc", fc, classes);
  config.classes = classes;
}

torch::Tensor ResNet::example_input(int64_t batch) const {
  return torch::randn({batch, config.channels, config.image, config.image});
}

std::optional<ImageShape> ResNet::image_shape() const {
  return ImageShape{config.channels, config.image, config.classes};
}

std::optional<BackboneConfig> ResNet::as_backbone() const {
  return BackboneConfig{.kind = BackboneKind::ResNet,
                        .blocks = config.blocks,
                        .stem = config.stem,
                        .block = config.block,
                        .stride_first = config.stride_first,
                        .conv_bias = config.conv_bias,
                        .batch_norm_eps = config.norm_eps};
}

}  // namespace vitrine
