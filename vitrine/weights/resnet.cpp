// ResNet by others' names. torchvision and timm have ours; Keras has those of the first Caffe
// files.

#include "vitrine/models/model.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr const char* kBatchCounter = ".num_batches_tracked";

struct ResNetVariant {
  const char* model;
  bool bottleneck;
  std::vector<int64_t> blocks;  // per stage
};

// The largest first: what is in a smaller one is in a larger one as well.
const std::vector<ResNetVariant>& resnet_variants() {
  static const std::vector<ResNetVariant> variants = {{"resnet152", true, {3, 8, 36, 3}},
                                                      {"resnet101", true, {3, 4, 23, 3}},
                                                      {"resnet50", true, {3, 4, 6, 3}},
                                                      {"resnet34", false, {3, 4, 6, 3}},
                                                      {"resnet18", false, {2, 2, 2, 2}}};
  return variants;
}

std::string block_name(size_t stage, int64_t block) {
  return fmt::format("layer{}.{}.", stage + 1, block);
}

/// The steps that torch's BatchNorm counts: other projects, and PyTorch before 0.4.1, do not.
NameRow batch_counter(const std::string& theirs, const std::string& norm) {
  return {.theirs = theirs, .ours = norm + kBatchCounter, .steps = {}, .optional = true};
}

NameMap torchvision_resnet_names(const ResNetVariant& variant) {
  NameMap map{
      .source = fmt::format("a {} with the names of torchvision or timm", variant.model),
      .signature = {},
      .placeholders = {{"{norm}",
                        {{"weight", "weight"},
                         {"bias", "bias"},
                         {"running_mean", "running_mean"},
                         {"running_var", "running_var"}}},
                       {"{wb}", {{"weight", "weight"}, {"bias", "bias"}}}},
      .rows = {},
  };
  const auto same = [&](const std::string& name) { map.rows.push_back({name, name}); };
  const auto convolution = [&](const std::string& conv, const std::string& norm) {
    same(conv + ".weight");
    same(norm + ".{norm}");
    map.rows.push_back(batch_counter(norm + kBatchCounter, norm));
  };
  convolution("conv1", "bn1");
  for (size_t stage = 0; stage < variant.blocks.size(); ++stage)
    for (int64_t i = 0; i < variant.blocks[stage]; ++i) {
      const auto block = block_name(stage, i);
      for (int part = 1; part <= (variant.bottleneck ? 3 : 2); ++part)
        convolution(fmt::format("{}conv{}", block, part), fmt::format("{}bn{}", block, part));
      if (i == 0 && (stage > 0 || variant.bottleneck))
        convolution(block + "downsample.0", block + "downsample.1");
    }
  same("fc.{wb}");
  const auto last = block_name(2, variant.blocks[2] - 1) + (variant.bottleneck ? "conv3" : "conv2");
  map.signature.assign({"conv1.weight", "bn1.running_mean", "fc.weight", last + ".weight"});
  return map;
}

/// ResNet-50 as keras-applications had it up to 2019, after the names of the Caffe model.
NameMap keras_resnet50_names() {
  NameMap map{
      .source = "the ResNet-50 of Keras (keras-applications 1.0.7 and before)",
      .signature = {"conv1/kernel", "bn_conv1/gamma", "res2a_branch2a/kernel", "fc1000/kernel"},
      .placeholders = {{"{norm}",
                        {{"gamma", "weight"},
                         {"beta", "bias"},
                         {"moving_mean", "running_mean"},
                         {"moving_variance", "running_var"}}},
                       {"{wb}", {{"kernel", "weight"}, {"bias", "bias"}}}},
      .rows =
          {
              // It was trained with blue first.
              {"conv1/{wb}", "conv1.{wb}", {Step::HwioToOihw, Step::BgrToRgb}},
              {"bn_conv1/{norm}", "bn1.{norm}"},
              batch_counter("bn_conv1/counter", "bn1"),
              {"fc1000/{wb}", "fc.{wb}", {Step::Transpose}},
          },
  };
  const auto convolution = [&](const std::string& theirs, const std::string& conv,
                               const std::string& norm) {
    map.rows.push_back({"res" + theirs + "/{wb}", conv + ".{wb}", {Step::HwioToOihw}});
    map.rows.push_back({"bn" + theirs + "/{norm}", norm + ".{norm}"});
    map.rows.push_back(batch_counter("bn" + theirs + "/counter", norm));
  };
  const std::vector<int64_t> blocks = {3, 4, 6, 3};
  for (size_t stage = 0; stage < blocks.size(); ++stage)
    for (int64_t i = 0; i < blocks[stage]; ++i) {
      const auto ours = block_name(stage, i);
      const auto theirs = fmt::format("{}{}_branch", stage + 2, static_cast<char>('a' + i));
      for (int part = 1; part <= 3; ++part)
        convolution(fmt::format("{}2{}", theirs, static_cast<char>('a' + part - 1)),
                    fmt::format("{}conv{}", ours, part), fmt::format("{}bn{}", ours, part));
      if (i == 0) convolution(theirs + "1", ours + "downsample.0", ours + "downsample.1");
    }
  return map;
}

std::vector<std::pair<std::string, int64_t>> resnet_sizes(const MappedFile& file) {
  return {{"channels", file.our_shape("conv1.weight", 4)[1]},
          {"classes", file.our_shape("fc.weight", 2)[0]}};
}

template <size_t kVariant>
ModelDescription describe_resnet(const MappedFile& file) {
  return {.model = resnet_variants()[kVariant].model, .sizes = resnet_sizes(file)};
}

ModelDescription describe_keras_resnet50(const MappedFile& file) {
  return {.model = "resnet50",
          .sizes = resnet_sizes(file),
          .settings = {"stride_first=true", "conv_bias=true", "norm_eps=0.001"}};
}

/// 256 pixels for 224, as torchvision evaluates its first ResNets.
Preprocess resnet_preprocess(const ImageShape& shape) {
  return imagenet_preprocess(shape, shape.image * 8 / 7, Interpolation::Bilinear);
}

/// Caffe's: bytes less the mean of ImageNet, not scaled.
Preprocess keras_resnet50_preprocess(const ImageShape& shape) {
  auto preprocess = resnet_preprocess(shape);
  preprocess.mean = {123.68 / 255, 116.779 / 255, 103.939 / 255};
  preprocess.std.assign(3, 1.0 / 255);
  return preprocess;
}

template <size_t... kVariants>
void add_torchvision(std::vector<NamedImporter>& importers, std::index_sequence<kVariants...>) {
  (importers.push_back({fmt::format("torchvision_{}", resnet_variants()[kVariants].model),
                        Importer{.map = torchvision_resnet_names(resnet_variants()[kVariants]),
                                 .describe = describe_resnet<kVariants>,
                                 .preprocess = resnet_preprocess,
                                 .untold = "preprocessing and the names of the classes"}}),
   ...);
}

}  // namespace

std::vector<NamedImporter> resnet_importers() {
  std::vector<NamedImporter> importers;
  add_torchvision(importers, std::make_index_sequence<5>());
  importers.push_back(
      {"keras_resnet50", Importer{.map = keras_resnet50_names(),
                                  .describe = describe_keras_resnet50,
                                  .preprocess = keras_resnet50_preprocess,
                                  .untold = "preprocessing and the names of the classes"}});
  return importers;
}

}  // namespace vitrine
