// ViT by others' names: one table per source. Sizes come from the shapes, whatever the source.

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr const char* kPositions = "pos_embed";
constexpr int64_t kHeadDim = 64;  // of every published ViT but ViT-H

const std::vector<Placeholder> kWeightAndBias = {
    {"{wb}", {{"weight", "weight"}, {"bias", "bias"}}}};

NameMap timm_vit_names() {
  return {
      .source = "a ViT with the names of timm or DeiT",
      .signature = {"patch_embed.proj.*", "blocks.0.attn.qkv.*"},
      .placeholders = kWeightAndBias,
      .rows =
          {
              {"cls_token", "cls_token"},
              {"pos_embed", kPositions, {Step::Positions}},
              {"patch_embed.proj.{wb}", "patch_embed.proj.{wb}"},
              {"blocks.{i}.norm1.{wb}", "blocks.{i}.norm1.{wb}"},
              {"blocks.{i}.attn.qkv.{wb}", "blocks.{i}.attn.qkv.{wb}"},
              {"blocks.{i}.attn.proj.{wb}", "blocks.{i}.attn.proj.{wb}"},
              {"blocks.{i}.norm2.{wb}", "blocks.{i}.norm2.{wb}"},
              {"blocks.{i}.mlp.fc1.{wb}", "blocks.{i}.mlp.fc1.{wb}"},
              {"blocks.{i}.mlp.fc2.{wb}", "blocks.{i}.mlp.fc2.{wb}"},
              {"norm.{wb}", "norm.{wb}"},
              {"head.{wb}", "head.{wb}"},
          },
  };
}

NameMap hugging_face_vit_names() {
  return {
      .source = "a ViTForImageClassification of Hugging Face",
      .signature = {"vit.embeddings.patch_embeddings.projection.*", "vit.encoder.layer.0.*"},
      .placeholders = kWeightAndBias,
      .rows =
          {
              {"vit.embeddings.cls_token", "cls_token"},
              {"vit.embeddings.position_embeddings", kPositions, {Step::Positions}},
              {"vit.embeddings.patch_embeddings.projection.{wb}", "patch_embed.proj.{wb}"},
              {"vit.encoder.layer.{i}.layernorm_before.{wb}", "blocks.{i}.norm1.{wb}"},
              {{"vit.encoder.layer.{i}.attention.attention.query.{wb}",
                "vit.encoder.layer.{i}.attention.attention.key.{wb}",
                "vit.encoder.layer.{i}.attention.attention.value.{wb}"},
               "blocks.{i}.attn.qkv.{wb}"},
              {"vit.encoder.layer.{i}.attention.output.dense.{wb}", "blocks.{i}.attn.proj.{wb}"},
              {"vit.encoder.layer.{i}.layernorm_after.{wb}", "blocks.{i}.norm2.{wb}"},
              {"vit.encoder.layer.{i}.intermediate.dense.{wb}", "blocks.{i}.mlp.fc1.{wb}"},
              {"vit.encoder.layer.{i}.output.dense.{wb}", "blocks.{i}.mlp.fc2.{wb}"},
              {"vit.layernorm.{wb}", "norm.{wb}"},
              {"classifier.{wb}", "head.{wb}"},
          },
      .skips = {{"vit.pooler.*", "the classifier does not use the pooler"}},
  };
}

/// The side of the grid in a table of positions for a class token and a square grid.
int64_t grid_side(const std::vector<int64_t>& positions, const std::string& origin) {
  const auto side = std::llround(std::sqrt(static_cast<double>(positions[1] - 1)));
  check(positions[1] > 1 && side * side == positions[1] - 1,
        "import: {}: {} positions are not those of a class token and a square grid", origin,
        positions[1]);
  return side;
}

ModelDescription describe_vit(const MappedFile& file, double norm_eps) {
  const auto projection = file.our_shape("patch_embed.proj.weight", 4);  // (C, channels, P, P)
  const auto side = grid_side(file.our_shape(kPositions, 3), file.origin());
  const auto dim = projection[0], patch = projection[3];
  return {.model = "vit_b16",
          .sizes = {{"patch", patch},
                    {"channels", projection[1]},
                    {"dim", dim},
                    {"depth", file.blocks()},
                    {"hidden", file.our_shape("blocks.0.mlp.fc1.weight", 2)[0]},
                    {"classes", file.our_shape("head.weight", 2)[0]}},
          .settings = {fmt::format("image={}", side * patch),
                       fmt::format("heads={}", std::max<int64_t>(dim / kHeadDim, 1)),
                       fmt::format("norm_eps={}", norm_eps)}};
}

/// The middle of an image whose short side is resized first, scaled to [-1, 1].
Preprocess centre_crop(const ImageShape& shape, int64_t resize, Interpolation interpolation) {
  const std::vector<double> half(static_cast<size_t>(shape.channels), 0.5);
  return {.image = shape.image,
          .resize = resize,
          .interpolation = interpolation,
          .channels = shape.channels,
          .mean = half,
          .std = half};
}

/// timm crops nine tenths at 224 pixels and everything at 384.
Preprocess timm_preprocess(const ImageShape& shape) {
  const auto resize = shape.image < 384 ? shape.image * 10 / 9 : shape.image;
  return centre_crop(shape, resize, Interpolation::Bicubic);
}

/// 256 pixels for 224.
Preprocess hugging_face_preprocess(const ImageShape& shape) {
  return centre_crop(shape, shape.image * 8 / 7, Interpolation::Bilinear);
}

}  // namespace

std::vector<NamedImporter> vit_importers() {
  const std::string untold = "heads and the names of the classes";
  return {
      {"timm_vit",
       Importer{
           .map = timm_vit_names(),
           .describe = [](const MappedFile& file) { return describe_vit(file, /*norm_eps=*/1e-6); },
           .preprocess = timm_preprocess,
           .positions = PositionResize::BicubicAntialias,
           .untold = untold}},
      {"hugging_face_vit",
       Importer{.map = hugging_face_vit_names(),
                .describe =
                    [](const MappedFile& file) { return describe_vit(file, /*norm_eps=*/1e-12); },
                .preprocess = hugging_face_preprocess,
                .positions = PositionResize::Bicubic,
                .untold = untold}},
  };
}

}  // namespace vitrine
