// PVT and PVT v2 by others' names: the authors' are ours; Hugging Face and timm rename the layers.

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr bool kMayLack = true;

const Placeholder kPvtWeightAndBias = {"{wb}", {{"weight", "weight"}, {"bias", "bias"}}};

/// What PVT and PVT v2 have in common, by the names of the authors: rows of the same names.
std::vector<NameRow> author_pyramid_rows() {
  std::vector<NameRow> rows;
  for (const auto* name :
       {"patch_embed{s+1}.proj.{wb}", "patch_embed{s+1}.norm.{wb}", "block{s+1}.{u}.norm1.{wb}",
        "block{s+1}.{u}.attn.q.{wb}", "block{s+1}.{u}.attn.kv.{wb}",
        "block{s+1}.{u}.attn.proj.{wb}", "block{s+1}.{u}.norm2.{wb}", "block{s+1}.{u}.mlp.fc1.{wb}",
        "block{s+1}.{u}.mlp.fc2.{wb}"})
    rows.push_back({name, name});
  for (const auto* name :
       {"block{s+1}.{u}.attn.sr.{wb}", "block{s+1}.{u}.attn.norm.{wb}", "head.{wb}"})
    rows.push_back({name, name, {}, kMayLack});
  return rows;
}

NameMap author_pvt_names() {
  NameMap map{.source = "a PVT with the names of its authors",
              .signature = {"pos_embed1", "patch_embed1.proj.*", "block1.0.attn.kv.*"},
              .placeholders = {kPvtWeightAndBias},
              .rows = author_pyramid_rows()};
  map.rows.push_back({"pos_embed{s+1}", "pos_embed{s+1}", {Step::Positions}});
  map.rows.push_back({"cls_token", "cls_token"});
  map.rows.push_back({"norm.{wb}", "norm.{wb}"});
  return map;
}

NameMap hugging_face_pvt_names() {
  return {
      .source = "a PVT of Hugging Face",
      .signature = {"pvt.encoder.patch_embeddings.0.projection.*", "pvt.encoder.block.0.0.*"},
      .placeholders = {kPvtWeightAndBias},
      .rows =
          {
              {"pvt.encoder.patch_embeddings.{s}.projection.{wb}", "patch_embed{s+1}.proj.{wb}"},
              {"pvt.encoder.patch_embeddings.{s}.layer_norm.{wb}", "patch_embed{s+1}.norm.{wb}"},
              {"pvt.encoder.patch_embeddings.{s}.position_embeddings",
               "pos_embed{s+1}",
               {Step::Positions}},
              {"pvt.encoder.patch_embeddings.3.cls_token", "cls_token"},
              {"pvt.encoder.block.{s}.{u}.layer_norm_1.{wb}", "block{s+1}.{u}.norm1.{wb}"},
              {"pvt.encoder.block.{s}.{u}.attention.self.query.{wb}", "block{s+1}.{u}.attn.q.{wb}"},
              {{"pvt.encoder.block.{s}.{u}.attention.self.key.{wb}",
                "pvt.encoder.block.{s}.{u}.attention.self.value.{wb}"},
               "block{s+1}.{u}.attn.kv.{wb}"},
              {"pvt.encoder.block.{s}.{u}.attention.self.sequence_reduction.{wb}",
               "block{s+1}.{u}.attn.sr.{wb}",
               {},
               kMayLack},
              {"pvt.encoder.block.{s}.{u}.attention.self.layer_norm.{wb}",
               "block{s+1}.{u}.attn.norm.{wb}",
               {},
               kMayLack},
              {"pvt.encoder.block.{s}.{u}.attention.output.dense.{wb}",
               "block{s+1}.{u}.attn.proj.{wb}"},
              {"pvt.encoder.block.{s}.{u}.layer_norm_2.{wb}", "block{s+1}.{u}.norm2.{wb}"},
              {"pvt.encoder.block.{s}.{u}.mlp.dense1.{wb}", "block{s+1}.{u}.mlp.fc1.{wb}"},
              {"pvt.encoder.block.{s}.{u}.mlp.dense2.{wb}", "block{s+1}.{u}.mlp.fc2.{wb}"},
              {"pvt.encoder.layer_norm.{wb}", "norm.{wb}"},
              {"classifier.{wb}", "head.{wb}", {}, kMayLack},
          },
  };
}

constexpr const char* kLinearV2 =
    "it pools keys and values (PVT v2-B2-Linear), which is not supported; give the file of the "
    "plain B2";

NameMap author_pvt_v2_names() {
  NameMap map{.source = "a PVT v2 with the names of its authors",
              .signature = {"patch_embed1.proj.*", "block1.0.mlp.dwconv.dwconv.*"},
              .placeholders = {kPvtWeightAndBias},
              .rows = author_pyramid_rows(),
              .refusals = {{"block4.*.attn.sr.*", kLinearV2}}};
  map.rows.push_back({"block{s+1}.{u}.mlp.dwconv.dwconv.{wb}", "block{s+1}.{u}.mlp.dwconv.{wb}"});
  map.rows.push_back({"norm{s+1}.{wb}", "norm{s+1}.{wb}"});
  return map;
}

NameMap timm_pvt_v2_names() {
  NameMap map{
      .source = "a PVT v2 with the names of timm",
      .signature = {"patch_embed.proj.*", "stages.0.blocks.0.mlp.dwconv.*"},
      .placeholders = {kPvtWeightAndBias,
                       {"{layer}", {{"proj", "proj"}, {"norm", "norm"}}},
                       {"{later}", {{"1", "2"}, {"2", "3"}, {"3", "4"}}}},
      .rows = {{"patch_embed.{layer}.{wb}", "patch_embed1.{layer}.{wb}"},
               {"stages.{later}.downsample.{layer}.{wb}", "patch_embed{later}.{layer}.{wb}"},
               {"stages.{s}.norm.{wb}", "norm{s+1}.{wb}"},
               {"head.{wb}", "head.{wb}", {}, kMayLack}},
      .refusals = {{"stages.3.blocks.*.attn.sr.*", kLinearV2}},
  };
  for (const std::string name : {"norm1", "attn.q", "attn.kv", "attn.sr", "attn.norm", "attn.proj",
                                 "norm2", "mlp.fc1", "mlp.dwconv", "mlp.fc2"})
    map.rows.push_back({"stages.{s}.blocks.{u}." + name + ".{wb}",
                        "block{s+1}.{u}." + name + ".{wb}",
                        {},
                        name == "attn.sr" || name == "attn.norm"});
  return map;
}

/// What the shapes tell of each stage.
struct PyramidShapes {
  std::vector<int64_t> kernels, dims, mlp_ratios, sr_ratios;
};

PyramidShapes pyramid_shapes(const MappedFile& file) {
  PyramidShapes result;
  for (size_t s = 0; s < file.units().size(); ++s) {
    const auto stage = std::to_string(s + 1);
    const auto embedding = "patch_embed" + stage + ".proj.weight",
               reduction = "block" + stage + ".0.attn.sr.weight";
    check(file.units()[s] > 0 && file.provides(embedding),
          "import: {}: stage {} lacks its embedding or its blocks", file.origin(), stage);
    const auto kernel = file.our_shape(embedding, 4);
    const auto hidden = file.our_shape("block" + stage + ".0.mlp.fc1.weight", 2)[0];
    result.dims.push_back(kernel[0]);
    result.kernels.push_back(kernel[3]);
    result.mlp_ratios.push_back(hidden / std::max<int64_t>(kernel[0], 1));
    result.sr_ratios.push_back(file.provides(reduction) ? file.our_shape(reduction, 4)[3] : 1);
  }
  return result;
}

/// The registered model with as many blocks per stage, or else the first.
struct PyramidVariant {
  const char* model;
  std::vector<int64_t> depths;
};

ModelDescription describe_pyramid(const MappedFile& file, const PyramidShapes& shapes,
                                  const std::vector<PyramidVariant>& variants,
                                  const std::string& kernel_key) {
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const PyramidVariant& v) {
    return v.depths == file.units();
  });
  ModelDescription result = {
      .model = found != variants.end() ? found->model : variants.front().model,
      .sizes = {{"channels", file.our_shape("patch_embed1.proj.weight", 4)[1]}},
      .settings = {},
      .classifier = file.provides("head.weight")};
  const auto add = [&](const std::string& key, const std::vector<int64_t>& numbers) {
    result.settings.push_back(fmt::format("{}=[{}]", key, fmt::join(numbers, ", ")));
  };
  add(kernel_key, shapes.kernels);
  add("dims", shapes.dims);
  add("depths", file.units());
  add("mlp_ratios", shapes.mlp_ratios);
  add("sr_ratios", shapes.sr_ratios);
  if (result.classifier) result.sizes.emplace_back("classes", file.our_shape("head.weight", 2)[0]);
  return result;
}

ModelDescription describe_pvt(const MappedFile& file) {
  const auto shapes = pyramid_shapes(file);
  auto result = describe_pyramid(file, shapes,
                                 {{"pvt_tiny", {2, 2, 2, 2}},
                                  {"pvt_small", {3, 4, 6, 3}},
                                  {"pvt_medium", {3, 4, 18, 3}},
                                  {"pvt_large", {3, 8, 27, 3}}},
                                 "patches");
  const auto cells = file.our_shape("pos_embed1", 3)[1];
  const auto side = std::llround(std::sqrt(static_cast<double>(cells)));
  check(side * side == cells, "import: {}: {} positions are not those of a square grid",
        file.origin(), cells);
  result.settings.push_back(fmt::format("image={}", side * shapes.kernels.at(0)));
  return result;
}

ModelDescription describe_pvt_v2(const MappedFile& file) {
  const auto shapes = pyramid_shapes(file);
  auto result = describe_pyramid(file, shapes,
                                 {{"pvt_v2_b1", {2, 2, 2, 2}},
                                  {"pvt_v2_b2", {3, 4, 6, 3}},
                                  {"pvt_v2_b3", {3, 4, 18, 3}},
                                  {"pvt_v2_b4", {3, 8, 27, 3}},
                                  {"pvt_v2_b5", {3, 6, 40, 3}}},
                                 "kernels");
  if (shapes.dims.at(0) == 32) result.model = "pvt_v2_b0";
  return result;
}

/// 256 pixels for 224, as the authors evaluate.
Preprocess author_pvt_preprocess(const ImageShape& shape) {
  return imagenet_preprocess(shape, shape.image * 8 / 7, Interpolation::Bicubic);
}

/// timm crops nine tenths.
Preprocess timm_pvt_preprocess(const ImageShape& shape) {
  return imagenet_preprocess(shape, shape.image * 10 / 9, Interpolation::Bicubic);
}

Importer pvt_importer(NameMap map, ModelDescription (*describe)(const MappedFile&),
                      Preprocess (*preprocess)(const ImageShape&)) {
  return {.map = std::move(map),
          .describe = describe,
          .preprocess = preprocess,
          .positions = PositionResize::Bilinear,
          .untold = "heads, preprocessing and the names of the classes"};
}

}  // namespace

std::vector<NamedImporter> pvt_importers() {
  return {{"pvt", pvt_importer(author_pvt_names(), describe_pvt, author_pvt_preprocess)},
          {"hugging_face_pvt",
           pvt_importer(hugging_face_pvt_names(), describe_pvt, author_pvt_preprocess)},
          {"pvt_v2", pvt_importer(author_pvt_v2_names(), describe_pvt_v2, author_pvt_preprocess)},
          {"timm_pvt_v2", pvt_importer(timm_pvt_v2_names(), describe_pvt_v2, timm_pvt_preprocess)}};
}

}  // namespace vitrine
