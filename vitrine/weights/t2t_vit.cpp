// T2T-ViT by the names of its authors, which are ours: one table for each kind of token layer.

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr const char* kSinusoids = "pos_embed";

/// The names of the token layers, behind "tokens_to_token.attention1.".
NameMap t2t_vit_names(const std::string& source, const std::string& projection,
                      const std::vector<std::string>& token_layer) {
  NameMap map{
      .source = source,
      .signature = {},
      .placeholders = {{"{wb}", {{"weight", "weight"}, {"bias", "bias"}}},
                       {"{n}", {{"1", "1"}, {"2", "2"}}}},
      .rows = {{kSinusoids, kSinusoids, {Step::Positions}},
               {"head.{wb}", "head.{wb}", {}, /*optional=*/true}},
      .refusals = {{"*attn.qkv.bias", "a bias of queries, keys and values is not supported"}},
  };
  const auto same = [&](const std::string& name) { map.rows.push_back({name, name}); };
  for (const auto* name :
       {"cls_token", "tokens_to_token.project.{wb}", "norm.{wb}", "blocks.{i}.norm{n}.{wb}",
        "blocks.{i}.attn.qkv.weight", "blocks.{i}.attn.proj.{wb}", "blocks.{i}.mlp.fc{n}.{wb}",
        "tokens_to_token.attention{n}.norm1.{wb}", "tokens_to_token.attention{n}.norm2.{wb}"})
    same(name);
  for (const auto& name : token_layer) same("tokens_to_token.attention{n}." + name);
  map.signature.push_back("tokens_to_token.attention1." + projection);
  map.signature.push_back("blocks.0.attn.qkv.*");
  return map;
}

struct T2tVitVariant {
  const char* model;
  int64_t dim, depth;
};

/// The registered model of these sizes, or the first of its width, or the last.
template <size_t kCount>
std::string variant_of_sizes(const T2tVitVariant (&variants)[kCount], int64_t dim, int64_t depth) {
  for (const auto& v : variants)
    if (v.dim == dim && v.depth >= depth) return v.model;
  return variants[kCount - 1].model;
}

/// The shapes tell everything but heads and windows, which are those of the published networks.
ModelDescription describe_t2t_vit(const MappedFile& file, const std::string& projection) {
  constexpr int64_t kWindow = 49, kStride = 16, kHeadDim = 64;
  const auto windows =
      file.our_shape("tokens_to_token.attention1." + projection, 2);  // (3 token_dim, window)
  const auto dim = file.our_shape("norm.weight", 1)[0];
  const auto cells = file.our_shape(kSinusoids, 3)[1] - 1;
  const auto side = std::llround(std::sqrt(static_cast<double>(std::max<int64_t>(cells, 0))));
  check(cells > 0 && side * side == cells,
        "import: {}: {} positions are not those of a class token and a square grid", file.origin(),
        cells + 1);
  ModelDescription result = {
      .model = "",
      .sizes = {{"channels", windows[1] / kWindow},
                {"token_dim", windows[0] / 3},
                {"dim", dim},
                {"depth", file.blocks()},
                {"hidden", file.our_shape("blocks.0.mlp.fc1.weight", 2)[0]}},
      .settings = {fmt::format("image={}", side * kStride),
                   fmt::format("heads={}", std::max<int64_t>(dim / kHeadDim, 1))},
      .classifier = file.provides("head.weight")};
  if (result.classifier) result.sizes.emplace_back("classes", file.our_shape("head.weight", 2)[0]);
  return result;
}

ModelDescription describe_performer(const MappedFile& file) {
  constexpr T2tVitVariant kVariants[] = {{"t2t_vit_7", 256, 7},   {"t2t_vit_10", 256, 10},
                                         {"t2t_vit_12", 256, 12}, {"t2t_vit_19", 448, 19},
                                         {"t2t_vit_24", 512, 24}, {"t2t_vit_14", 384, 14}};
  auto result = describe_t2t_vit(file, "kqv.weight");
  result.model = variant_of_sizes(kVariants, file.our_shape("norm.weight", 1)[0], file.blocks());
  return result;
}

ModelDescription describe_transformer(const MappedFile& file) {
  constexpr T2tVitVariant kVariants[] = {
      {"t2t_vit_t_19", 448, 19}, {"t2t_vit_t_24", 512, 24}, {"t2t_vit_t_14", 384, 14}};
  auto result = describe_t2t_vit(file, "attn.qkv.weight");
  result.model = variant_of_sizes(kVariants, file.our_shape("norm.weight", 1)[0], file.blocks());
  return result;
}

/// Nine tenths of the image, with the statistics of ImageNet.
Preprocess t2t_vit_preprocess(const ImageShape& shape) {
  const bool color = shape.channels == 3;
  const std::vector<double> half(static_cast<size_t>(shape.channels), 0.5);
  return {.image = shape.image,
          .resize = shape.image * 10 / 9,
          .interpolation = Interpolation::Bicubic,
          .channels = shape.channels,
          .mean = color ? std::vector{0.485, 0.456, 0.406} : half,
          .std = color ? std::vector{0.229, 0.224, 0.225} : half};
}

Importer t2t_vit_importer(NameMap map, ModelDescription (*describe)(const MappedFile&)) {
  return {.map = std::move(map),
          .describe = describe,
          .preprocess = t2t_vit_preprocess,
          .positions = PositionResize::Bicubic,
          .untold = "heads, preprocessing and the names of the classes"};
}

}  // namespace

std::vector<NamedImporter> t2t_vit_importers() {
  return {{"t2t_vit", t2t_vit_importer(
                          t2t_vit_names("a T2T-ViT with performer tokens", "kqv.*",
                                        {"kqv.{wb}", "proj.{wb}", "mlp.0.{wb}", "mlp.2.{wb}", "w"}),
                          describe_performer)},
          {"t2t_vit_t",
           t2t_vit_importer(
               t2t_vit_names("a T2T-ViT with transformer tokens", "attn.qkv.*",
                             {"attn.qkv.weight", "attn.proj.{wb}", "mlp.fc1.{wb}", "mlp.fc2.{wb}"}),
               describe_transformer)}};
}

}  // namespace vitrine
