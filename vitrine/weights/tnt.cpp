// TNT by others' names: the authors' are ours, timm renames every layer.

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr const char *kPatchPositions = "outer_pos", *kWordKernel = "patch_embed.proj.weight",
                     *kTimmWordPositions = "pixel_pos";

/// What a source calls the layers: theirs and ours.
struct TntNames {
  std::string words, patch_positions, word_positions;
  Placeholder stem_norms, norms, attentions, mlps;
};

NameMap tnt_names(const std::string& source, const TntNames& names) {
  const auto attention = names.attentions.values[0].first;
  NameMap map{
      .source = source,
      .signature = {},
      .placeholders = {{"{wb}", {{"weight", "weight"}, {"bias", "bias"}}},
                       {"{qk_v}", {{"qk", "qk"}, {"v", "v"}}},
                       {"{fc}", {{"fc1", "fc1"}, {"fc2", "fc2"}}},
                       names.stem_norms,
                       names.norms,
                       names.attentions,
                       names.mlps},
      .rows =
          {
              {names.words + ".proj.{wb}", "patch_embed.proj.{wb}"},
              {"{stem_norm}.{wb}", "{stem_norm}.{wb}"},
              {"proj.{wb}", "proj.{wb}"},
              {"cls_token", "cls_token"},
              {names.patch_positions, kPatchPositions, {Step::Positions}},
              {names.word_positions, "inner_pos"},
              {"blocks.{i}.{norm}.{wb}", "blocks.{i}.{norm}.{wb}"},
              {"blocks.{i}.{attn}.{qk_v}.weight", "blocks.{i}.{attn}.{qk_v}.weight"},
              {"blocks.{i}.{attn}.proj.{wb}", "blocks.{i}.{attn}.proj.{wb}"},
              {"blocks.{i}.proj.weight", "blocks.{i}.proj.weight"},
              {"blocks.{i}.{mlp}.{fc}.{wb}", "blocks.{i}.{mlp}.{fc}.{wb}"},
              {"norm.{wb}", "norm.{wb}"},
              {"head.{wb}", "head.{wb}", {}, /*optional=*/true},
          },
      .skips = {{"outer_tokens", "zeros that nothing reads"}},
      .refusals = {{"*.se_layer.*", "squeeze-and-excitation is not supported"},
                   {"blocks.[0-9].proj.bias",
                    "it is the first form of TNT in timm, which makes words before it cuts "
                    "patches; give the file of tnt_s_patch16_224"},
                   {"*.qk.bias", "a bias of queries and keys is not supported"}},
  };
  map.signature.push_back(names.words + ".proj.*");
  map.signature.push_back("blocks.0." + attention + ".qk.*");
  return map;
}

NameMap author_tnt_names() {
  const auto same = [](const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& name : names) pairs.emplace_back(name, name);
    return pairs;
  };
  return tnt_names("a TNT with the names of its authors",
                   {.words = "patch_embed",
                    .patch_positions = "outer_pos",
                    .word_positions = "inner_pos",
                    .stem_norms = {"{stem_norm}", same({"proj_norm1", "proj_norm2"})},
                    .norms = {"{norm}", same({"inner_norm1", "inner_norm2", "proj_norm1",
                                              "proj_norm2", "outer_norm1", "outer_norm2"})},
                    .attentions = {"{attn}", same({"inner_attn", "outer_attn"})},
                    .mlps = {"{mlp}", same({"inner_mlp", "outer_mlp"})}});
}

NameMap timm_tnt_names() {
  return tnt_names(
      "a TNT with the names of timm",
      {.words = "pixel_embed",
       .patch_positions = "patch_pos",
       .word_positions = kTimmWordPositions,
       .stem_norms = {"{stem_norm}", {{"norm1_proj", "proj_norm1"}, {"norm2_proj", "proj_norm2"}}},
       .norms = {"{norm}",
                 {{"norm_in", "inner_norm1"},
                  {"norm_mlp_in", "inner_norm2"},
                  {"norm1_proj", "proj_norm1"},
                  {"norm2_proj", "proj_norm2"},
                  {"norm_out", "outer_norm1"},
                  {"norm_mlp", "outer_norm2"}}},
       .attentions = {"{attn}", {{"attn_in", "inner_attn"}, {"attn_out", "outer_attn"}}},
       .mlps = {"{mlp}", {{"mlp_in", "inner_mlp"}, {"mlp", "outer_mlp"}}}});
}

/// timm keeps the positions of words as a map, (1, inner_dim, h, w): as (1, h * w, inner_dim).
TensorFile with_word_rows(TensorFile file) {
  for (auto& [name, tensor] : file.tensors)
    if (name == kTimmWordPositions && tensor.dim() == 4)
      tensor = tensor.flatten(2).transpose(1, 2).contiguous();
  return file;
}

/// The side of a square of `cells`.
int64_t side_of_square(int64_t cells, const std::string& what, const MappedFile& file) {
  const auto side = std::llround(std::sqrt(static_cast<double>(std::max<int64_t>(cells, 0))));
  check(cells > 0 && side * side == cells, "import: {}: {} {} are not those of a square grid",
        file.origin(), cells, what);
  return side;
}

/// The shapes tell how many patches there are, and how many words in each, but not their sizes:
/// they are those of the published networks.
ModelDescription describe_tnt(const MappedFile& file) {
  constexpr int64_t kPatch = 16, kHeadDim = 64, kInnerHeads = 4;
  const auto kernel = file.our_shape(kWordKernel, 4);  // (inner_dim, channels, 7, 7)
  const auto read = file.our_shape("proj.weight", 2);  // (dim, words * inner_dim)
  const auto dim = read[0];
  const auto words =
      side_of_square(read[1] / std::max<int64_t>(kernel[0], 1), "words of a patch", file);
  const auto side =
      side_of_square(file.our_shape(kPatchPositions, 3)[1] - 1, "positions of patches", file);
  ModelDescription result = {
      .model = dim > 384 ? "tnt_b" : "tnt_s",
      .sizes = {{"channels", kernel[1]},
                {"dim", dim},
                {"depth", file.blocks()},
                {"hidden", file.our_shape("blocks.0.outer_mlp.fc1.weight", 2)[0]},
                {"inner_dim", kernel[0]},
                {"inner_hidden", file.our_shape("blocks.0.inner_mlp.fc1.weight", 2)[0]}},
      .settings = {fmt::format("image={}", side * kPatch), fmt::format("patch={}", kPatch),
                   fmt::format("heads={}", std::max<int64_t>(dim / kHeadDim, 1)),
                   fmt::format("inner_heads={}", kInnerHeads),
                   fmt::format("inner_stride={}", (kPatch + words - 1) / words)},
      .classifier = file.provides("head.weight")};
  if (result.classifier) result.sizes.emplace_back("classes", file.our_shape("head.weight", 2)[0]);
  return result;
}

/// Nine tenths of the image, scaled to [-1, 1].
Preprocess tnt_preprocess(const ImageShape& shape) {
  const std::vector<double> half(static_cast<size_t>(shape.channels), 0.5);
  return {.image = shape.image,
          .resize = shape.image * 10 / 9,
          .interpolation = Interpolation::Bicubic,
          .channels = shape.channels,
          .mean = half,
          .std = half};
}

Importer tnt_importer(NameMap map, TensorFile (*prepare)(TensorFile) = nullptr) {
  return {.map = std::move(map),
          .describe = describe_tnt,
          .preprocess = tnt_preprocess,
          .positions = PositionResize::BicubicAntialias,
          .untold = "patch, heads, preprocessing and the names of the classes",
          .prepare = prepare};
}

}  // namespace

std::vector<NamedImporter> tnt_importers() {
  return {{"tnt", tnt_importer(author_tnt_names())},
          {"timm_tnt", tnt_importer(timm_tnt_names(), with_word_rows)}};
}

}  // namespace vitrine
