#include "vitrine/models/resnet.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/readout.h"

namespace vitrine {
namespace {

torch::nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

}  // namespace

const Choices<ResNetStem>& resnet_stem_names() {
  static const Choices<ResNetStem> names = {{"imagenet", ResNetStem::ImageNet},
                                            {"cifar", ResNetStem::Cifar}};
  return names;
}

void ResNetConfig::visit(Fields& f) {
  f("image", image, "side of the input image in pixels");
  f("channels", channels, "channels of the input image");
  f("classes", classes, "number of classes");
  f("stem", stem, resnet_stem_names(),
    "first layers: 7 x 7 with pooling, or 3 x 3 for small images");
  f("blocks", blocks, "basic blocks per stage");
}

void ResNetConfig::validate() const {
  check(image > 0 && channels > 0 && classes > 0,
        "resnet: image {}, channels {} and classes {} must be positive", image, channels, classes);
  check(!blocks.empty(), "resnet: blocks is empty; list the blocks of each stage, such as [2, 2]");
  for (const auto n : blocks) check(n > 0, "resnet: a stage of {} blocks must have at least 1", n);
}

ResNetConfig resnet18() { return {}; }

BasicBlockImpl::BasicBlockImpl(int64_t in, int64_t out, int64_t stride) {
  conv1 = register_module("conv1", conv(in, out, 3, stride));
  bn1 = register_module("bn1", torch::nn::BatchNorm2d(out));
  conv2 = register_module("conv2", conv(out, out, 3, 1));
  bn2 = register_module("bn2", torch::nn::BatchNorm2d(out));
  if (stride != 1 || in != out)
    downsample = register_module(
        "downsample", torch::nn::Sequential(conv(in, out, 1, stride), torch::nn::BatchNorm2d(out)));
}

torch::Tensor BasicBlockImpl::forward(const torch::Tensor& x) {
  const auto hidden = torch::relu(bn1(conv1(x)));
  const auto shortcut = downsample ? downsample->forward(x) : x;
  return torch::relu(bn2(conv2(hidden)) + shortcut);
}

ResNet::ResNet(const ResNetConfig& c) : config(c) {
  config.validate();
  const bool small = config.stem == ResNetStem::Cifar;
  conv1 = register_module(
      "conv1", small ? conv(config.channels, 64, 3, 1) : conv(config.channels, 64, 7, 2));
  bn1 = register_module("bn1", torch::nn::BatchNorm2d(64));
  int64_t width = 64;
  for (size_t stage = 0; stage < config.blocks.size(); ++stage) {
    const int64_t out = 64 << stage;
    torch::nn::Sequential layer;
    for (int64_t i = 0; i < config.blocks[stage]; ++i) {
      layer->push_back(BasicBlock(width, out, stage > 0 && i == 0 ? 2 : 1));
      width = out;
    }
    layers.push_back(register_module("layer" + std::to_string(stage + 1), layer));
  }
  fc = register_module("fc", Linear(width, config.classes));
  for (const auto& module : modules(/*include_self=*/false))
    if (auto* child = module->as<torch::nn::Conv2d>())
      torch::nn::init::kaiming_normal_(child->weight, 0, torch::kFanOut, torch::kReLU);
}

torch::Tensor ResNet::feature_map(const torch::Tensor& x) {
  auto map = torch::relu(bn1(conv1(x.contiguous(torch::MemoryFormat::ChannelsLast))));
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

}  // namespace vitrine
