// CvT by others' names: the authors' are ours; Hugging Face renames every layer.

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

/// What a source calls the parts; {s} is the stage, {u} the block.
struct CvtNames {
  std::string embedding, embedding_norm, class_token;
  std::string block, norm1, norm2, conv_projection, conv, conv_norm, projection, out, fc1, fc2;
  std::string norm, head;
  Placeholder queries_keys_values;
};

NameMap cvt_names(const std::string& source, const Names& signature, const CvtNames& n) {
  const std::string ours = "stage{s}.blocks.{u}.";
  const auto conv_projection = n.block + n.conv_projection;
  const bool optional = true;
  return {
      .source = source,
      .signature = signature,
      .placeholders = {{"{wb}", {{"weight", "weight"}, {"bias", "bias"}}},
                       {"{bn}",
                        {{"weight", "weight"},
                         {"bias", "bias"},
                         {"running_mean", "running_mean"},
                         {"running_var", "running_var"}}},
                       n.queries_keys_values},
      .rows =
          {
              {n.embedding + ".{wb}", "stage{s}.patch_embed.proj.{wb}"},
              {n.embedding_norm + ".{wb}", "stage{s}.patch_embed.norm.{wb}"},
              {n.class_token, "stage2.cls_token"},
              {n.block + n.norm1 + ".{wb}", ours + "norm1.{wb}"},
              {conv_projection + n.conv + ".weight", ours + "attn.conv_proj_{qkv}.conv.weight"},
              {conv_projection + n.conv_norm + ".{bn}", ours + "attn.conv_proj_{qkv}.bn.{bn}"},
              {conv_projection + n.conv_norm + ".num_batches_tracked",
               ours + "attn.conv_proj_{qkv}.bn.num_batches_tracked",
               {},
               optional},
              {n.block + n.projection + ".{wb}", ours + "attn.proj_{qkv}.{wb}"},
              {n.block + n.out + ".{wb}", ours + "attn.proj.{wb}"},
              {n.block + n.norm2 + ".{wb}", ours + "norm2.{wb}"},
              {n.block + n.fc1 + ".{wb}", ours + "mlp.fc1.{wb}"},
              {n.block + n.fc2 + ".{wb}", ours + "mlp.fc2.{wb}"},
              {n.norm + ".{wb}", "norm.{wb}"},
              {n.head + ".{wb}", "head.{wb}", {}, optional},
          },
  };
}

NameMap author_cvt_names() {
  return cvt_names("a CvT with the names of its authors",
                   {"stage0.patch_embed.proj.*", "stage0.blocks.0.attn.conv_proj_q.conv.*"},
                   {.embedding = "stage{s}.patch_embed.proj",
                    .embedding_norm = "stage{s}.patch_embed.norm",
                    .class_token = "stage2.cls_token",
                    .block = "stage{s}.blocks.{u}.",
                    .norm1 = "norm1",
                    .norm2 = "norm2",
                    .conv_projection = "attn.conv_proj_{qkv}.",
                    .conv = "conv",
                    .conv_norm = "bn",
                    .projection = "attn.proj_{qkv}",
                    .out = "attn.proj",
                    .fc1 = "mlp.fc1",
                    .fc2 = "mlp.fc2",
                    .norm = "norm",
                    .head = "head",
                    .queries_keys_values = {"{qkv}", {{"q", "q"}, {"k", "k"}, {"v", "v"}}}});
}

NameMap hugging_face_cvt_names() {
  const std::string stage = "cvt.encoder.stages.{s}.",
                    embedding = stage + "embedding.convolution_embeddings.";
  return cvt_names(
      "a CvT of Hugging Face",
      {"cvt.encoder.stages.0.embedding.*", "cvt.encoder.stages.0.layers.0.*"},
      {.embedding = embedding + "projection",
       .embedding_norm = embedding + "normalization",
       .class_token = "cvt.encoder.stages.2.cls_token",
       .block = stage + "layers.{u}.",
       .norm1 = "layernorm_before",
       .norm2 = "layernorm_after",
       .conv_projection =
           "attention.attention.convolution_projection_{qkv}.convolution_projection.",
       .conv = "convolution",
       .conv_norm = "normalization",
       .projection = "attention.attention.projection_{qkv}",
       .out = "attention.output.dense",
       .fc1 = "intermediate.dense",
       .fc2 = "output.dense",
       .norm = "layernorm",
       .head = "classifier",
       .queries_keys_values = {"{qkv}", {{"query", "q"}, {"key", "k"}, {"value", "v"}}}});
}

/// The shapes tell neither the image nor the strides, which are those of the published networks.
/// The names of the authors' files tell the image: "CvT-13-384x384-IN-1k.pth".
ModelDescription describe_cvt(const MappedFile& file) {
  constexpr int64_t kHeadDim = 64;
  std::vector<int64_t> kernels, dims, heads;
  std::vector<double> ratios;
  for (size_t s = 0; s < file.units().size(); ++s) {
    const auto stage = "stage" + std::to_string(s) + ".";
    check(file.units()[s] > 0, "import: {}: stage {} has no blocks", file.origin(), s);
    const auto kernel = file.our_shape(stage + "patch_embed.proj.weight", 4);
    const auto hidden = file.our_shape(stage + "blocks.0.mlp.fc1.weight", 2)[0];
    dims.push_back(kernel[0]);
    kernels.push_back(kernel[3]);
    heads.push_back(std::max<int64_t>(kernel[0] / kHeadDim, 1));
    ratios.push_back(static_cast<double>(hidden) /
                     static_cast<double>(std::max<int64_t>(kernel[0], 1)));
  }
  const auto blocks = file.units().empty() ? 0 : file.units().back();
  ModelDescription result = {
      .model = blocks == 20   ? "cvt_w24"
               : blocks == 16 ? "cvt_21"
                              : "cvt_13",
      .sizes = {{"channels", file.our_shape("stage0.patch_embed.proj.weight", 4)[1]}},
      .settings = {fmt::format("kernels=[{}]", fmt::join(kernels, ", ")),
                   fmt::format("dims=[{}]", fmt::join(dims, ", ")),
                   fmt::format("depths=[{}]", fmt::join(file.units(), ", ")),
                   fmt::format("heads=[{}]", fmt::join(heads, ", ")),
                   fmt::format("mlp_ratios=[{}]", fmt::join(ratios, ", "))},
      .classifier = file.provides("head.weight")};
  if (result.classifier) result.sizes.emplace_back("classes", file.our_shape("head.weight", 2)[0]);
  return result;
}

ModelDescription describe_author_cvt(const MappedFile& file) {
  auto result = describe_cvt(file);
  const auto name = fs::path(file.origin()).filename().string();
  for (const auto* side : {"224", "384"})
    if (name.find(fmt::format("{}x{}", side, side)) != name.npos)
      result.settings.push_back(fmt::format("image={}", side));
  return result;
}

/// 256 pixels for 224; those of 384 see the whole image, squeezed into the square.
Preprocess cvt_preprocess(const ImageShape& shape) {
  const bool large = shape.image >= 384;
  auto how =
      imagenet_preprocess(shape, large ? shape.image : shape.image * 8 / 7, Interpolation::Bicubic);
  how.stretch = large;
  return how;
}

}  // namespace

std::vector<NamedImporter> cvt_importers() {
  const std::string untold = "image, heads, preprocessing and the names of the classes";
  return {{"cvt", Importer{.map = author_cvt_names(),
                           .describe = describe_author_cvt,
                           .preprocess = cvt_preprocess,
                           .untold = untold}},
          {"hugging_face_cvt", Importer{.map = hugging_face_cvt_names(),
                                        .describe = describe_cvt,
                                        .preprocess = cvt_preprocess,
                                        .untold = untold}}};
}

}  // namespace vitrine
