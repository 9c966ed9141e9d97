// CCT by the names of its authors.

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

NameMap cct_names() {
  return {
      .source = "a CCT with the names of its authors",
      .signature = {"tokenizer.conv_layers.0.0.weight", "classifier.attention_pool.*",
                    "classifier.blocks.0.self_attn.qkv.*"},
      .placeholders = {{"{wb}", {{"weight", "weight"}, {"bias", "bias"}}}},
      .rows =
          {
              {"tokenizer.conv_layers.{s}.0.weight", "tokenizer.convs.{s}.weight"},
              {"classifier.positional_emb", "pos_embed", {Step::Positions}},
              {"classifier.blocks.{i}.pre_norm.{wb}", "blocks.{i}.norm1.{wb}"},
              {"classifier.blocks.{i}.self_attn.qkv.weight", "blocks.{i}.attn.qkv.weight"},
              {"classifier.blocks.{i}.self_attn.proj.{wb}", "blocks.{i}.attn.proj.{wb}"},
              {"classifier.blocks.{i}.norm1.{wb}", "blocks.{i}.norm2.{wb}"},
              {"classifier.blocks.{i}.linear1.{wb}", "blocks.{i}.mlp.fc1.{wb}"},
              {"classifier.blocks.{i}.linear2.{wb}", "blocks.{i}.mlp.fc2.{wb}"},
              {"classifier.norm.{wb}", "norm.{wb}"},
              {"classifier.attention_pool.{wb}", "pool.{wb}"},
              {"classifier.fc.{wb}", "head.{wb}", {}, /*optional=*/true},
          },
  };
}

std::string cct_of_sizes(int64_t dim, int64_t depth) {
  if (dim <= 128) return depth <= 2 ? "cct_2_3x2" : "cct_4_3x2";
  if (dim <= 256) return depth <= 6 ? "cct_6_3x1" : "cct_7_3x1";
  return "cct_14_7x2";
}

/// The shapes tell all but heads and strides, which are those of the published networks. Fixed
/// sinusoidal positions are stored as learned ones are, and are taken as such.
ModelDescription describe_cct(const MappedFile& file) {
  constexpr int64_t kHeadDim = 64, kPoolStride = 2, kMostConvolutions = 8;
  const auto first = file.our_shape("tokenizer.convs.0.weight", 4);  // (out, channels, k, k)
  const auto convolutions = std::ssize(file.units()), kernel = first[3];
  const auto dim = file.our_shape("norm.weight", 1)[0];
  const auto stride = std::max<int64_t>(1, kernel / 2 - 1);
  check(convolutions <= kMostConvolutions && kernel > 0 && kernel < 64,
        "import: {}: {} convolutions of {} x {} are not those of a CCT", file.origin(),
        convolutions, kernel, kernel);
  const auto tokens = file.our_shape("pos_embed", 3)[1];
  auto image = std::llround(std::sqrt(static_cast<double>(tokens)));
  check(tokens > 0 && image * image == tokens,
        "import: {}: {} positions are not those of a square grid", file.origin(), tokens);
  for (int64_t i = 0; i < convolutions; ++i) image *= stride * kPoolStride;
  ModelDescription result = {
      .model = cct_of_sizes(dim, file.blocks()),
      .sizes = {{"channels", first[1]},
                {"convolutions", convolutions},
                {"kernel", kernel},
                {"dim", dim},
                {"depth", file.blocks()},
                {"hidden", file.our_shape("blocks.0.mlp.fc1.weight", 2)[0]}},
      .settings = {fmt::format("image={}", image), fmt::format("stride={}", stride),
                   fmt::format("heads={}", std::max<int64_t>(dim / kHeadDim, 1))},
      .classifier = file.provides("head.weight")};
  if (convolutions > 1) result.sizes.emplace_back("stem_channels", first[0]);
  if (result.classifier) result.sizes.emplace_back("classes", file.our_shape("head.weight", 2)[0]);
  return result;
}

/// The statistics of CIFAR, where the classes and the image are CIFAR's, else those of ImageNet and
/// nine tenths of the image.
Preprocess cct_preprocess(const ImageShape& shape) {
  const bool small = shape.image <= 32;
  Preprocess how{.image = shape.image,
                 .resize = small ? shape.image : shape.image * 10 / 9,
                 .interpolation = Interpolation::Bicubic,
                 .channels = shape.channels,
                 .mean = {0.485, 0.456, 0.406},
                 .std = {0.229, 0.224, 0.225}};
  if (small && shape.classes == 10) {
    how.mean = {0.4914, 0.4822, 0.4465};
    how.std = {0.2470, 0.2435, 0.2616};
  } else if (small && shape.classes == 100) {
    how.mean = {0.5071, 0.4867, 0.4408};
    how.std = {0.2675, 0.2565, 0.2761};
  }
  if (shape.channels != 3) {
    how.mean.assign(static_cast<size_t>(shape.channels), 0.5);
    how.std = how.mean;
  }
  return how;
}

}  // namespace

std::vector<NamedImporter> cct_importers() {
  return {{"cct", Importer{.map = cct_names(),
                           .describe = describe_cct,
                           .preprocess = cct_preprocess,
                           .positions = PositionResize::Bilinear,
                           .untold = "heads, preprocessing and the names of the classes"}}};
}

}  // namespace vitrine
