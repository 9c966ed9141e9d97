// ViT by others' names: one table per source. Sizes come from the shapes, whatever the source.

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/sources.h"
#include "vitrine/weights/vit_preprocess.h"

namespace vitrine {
namespace {

constexpr const char *kPositions = "pos_embed", *kClassToken = "cls_token",
                     *kDistillationToken = "dist_token";
constexpr bool kOptional = true;
constexpr const char* kUntold = "heads, preprocessing and the names of the classes";

constexpr const char *kPreLogits =
                         "a layer of pre-training, which only the head of pre-training reads",
                     *kPreTrainingHead = "the head of pre-training, which reads pre_logits",
                     *kMaskToken = "only pre-training masks patches";

const std::vector<Placeholder> kWeightAndBias = {
    {"{wb}", {{"weight", "weight"}, {"bias", "bias"}}}};

NameMap timm_vit_names() {
  return {
      .source = "a ViT with the names of timm or DeiT",
      .signature = {"patch_embed.proj.*", "blocks.0.attn.qkv.*"},
      .placeholders = kWeightAndBias,
      .rows =
          {
              {"cls_token", kClassToken, {}, kOptional},
              {"dist_token", kDistillationToken, {}, kOptional},
              {"pos_embed", kPositions, {Step::Positions}},
              {"patch_embed.proj.{wb}", "patch_embed.proj.{wb}"},
              {"blocks.{i}.norm1.{wb}", "blocks.{i}.norm1.{wb}"},
              {"blocks.{i}.attn.qkv.{wb}", "blocks.{i}.attn.qkv.{wb}"},
              {"blocks.{i}.attn.proj.{wb}", "blocks.{i}.attn.proj.{wb}"},
              {"blocks.{i}.{scale1}", "blocks.{i}.ls1.gamma", {}, kOptional},
              {"blocks.{i}.norm2.{wb}", "blocks.{i}.norm2.{wb}"},
              {"blocks.{i}.mlp.fc1.{wb}", "blocks.{i}.mlp.fc1.{wb}"},
              {"blocks.{i}.mlp.fc2.{wb}", "blocks.{i}.mlp.fc2.{wb}"},
              {"blocks.{i}.{scale2}", "blocks.{i}.ls2.gamma", {}, kOptional},
              {"norm.{wb}", "norm.{wb}"},
              {"head.{wb}", "head.{wb}", {}, kOptional},
              {"head_dist.{wb}", "head_dist.{wb}", {}, kOptional},
          },
      .skips = {{"pre_logits.*", kPreLogits},
                {"head.*", kPreTrainingHead, /*beside=*/"pre_logits.*"},
                {"mask_token", kMaskToken}},
      .spellings = {{"{scale1}", {"ls1.gamma", "gamma_1"}}, {"{scale2}", {"ls2.gamma", "gamma_2"}}},
      .refusals = {{"fc_norm.*",
                    "it averages its tokens and normalises then, which no ViT of "
                    "Vitrine does"},
                   {"reg_token", "register tokens are not supported"},
                   {"norm_pre.*", "a norm before the blocks is not supported"},
                   {"attn_pool.*", "attention pooling is not supported"}},
  };
}

/// Both generations of names: v5 of the library renamed the layers of an encoder. Files of the
/// model without its classifier have no "vit." before the names.
NameMap hugging_face_vit_names() {
  return {
      .source = "a ViT of Hugging Face",
      .signature = {"*embeddings.patch_embeddings.projection.*", "*.0.layernorm_before.*"},
      .placeholders = kWeightAndBias,
      .rows =
          {
              {"{vit}embeddings.cls_token", kClassToken},
              {"{vit}embeddings.position_embeddings", kPositions, {Step::Positions}},
              {"{vit}embeddings.patch_embeddings.projection.{wb}", "patch_embed.proj.{wb}"},
              {"{vit}{layer}.{i}.layernorm_before.{wb}", "blocks.{i}.norm1.{wb}"},
              {{"{vit}{layer}.{i}.attention.{query}.{wb}", "{vit}{layer}.{i}.attention.{key}.{wb}",
                "{vit}{layer}.{i}.attention.{value}.{wb}"},
               "blocks.{i}.attn.qkv.{wb}"},
              {"{vit}{layer}.{i}.attention.{out}.{wb}", "blocks.{i}.attn.proj.{wb}"},
              {"{vit}{layer}.{i}.layernorm_after.{wb}", "blocks.{i}.norm2.{wb}"},
              {"{vit}{layer}.{i}.{fc1}.{wb}", "blocks.{i}.mlp.fc1.{wb}"},
              {"{vit}{layer}.{i}.{fc2}.{wb}", "blocks.{i}.mlp.fc2.{wb}"},
              {"{vit}layernorm.{wb}", "norm.{wb}"},
              {"classifier.{wb}", "head.{wb}", {}, kOptional},
          },
      .skips = {{"*pooler.*", "the classifier does not use the pooler"},
                {"*mask_token", kMaskToken}},
      .spellings = {{"{vit}", {"vit.", ""}},
                    {"{layer}", {"encoder.layer", "layers"}},
                    {"{query}", {"attention.query", "q_proj"}},
                    {"{key}", {"attention.key", "k_proj"}},
                    {"{value}", {"attention.value", "v_proj"}},
                    {"{out}", {"output.dense", "o_proj"}},
                    {"{fc1}", {"intermediate.dense", "mlp.fc1"}},
                    {"{fc2}", {"output.dense", "mlp.fc2"}}},
      .refusals = {{"decoder.*", "it is a masked autoencoder; give the file of its encoder"}},
  };
}

/// The same with a second token and head.
NameMap hugging_face_deit_names() {
  auto map = hugging_face_vit_names();
  map.source = "a distilled DeiT of Hugging Face";
  map.signature.push_back("*embeddings.distillation_token");
  map.spellings[0].ways = {"deit.", ""};
  map.rows.back() = {"cls_classifier.{wb}", "head.{wb}", {}, kOptional};
  map.rows.push_back({"distillation_classifier.{wb}", "head_dist.{wb}", {}, kOptional});
  map.rows.push_back({"{vit}embeddings.distillation_token", kDistillationToken});
  map.refusals.push_back({"classifier.*",
                          "its answer leaves out the distillation token, which no ViT of Vitrine "
                          "does"});
  return map;
}

NameMap torchvision_vit_names() {
  return {
      .source = "a ViT of torchvision",
      .signature = {"conv_proj.*", "encoder.layers.encoder_layer_0.*"},
      .placeholders = kWeightAndBias,
      .rows =
          {
              {"class_token", kClassToken},
              {"encoder.pos_embedding", kPositions, {Step::Positions}},
              {"conv_proj.{wb}", "patch_embed.proj.{wb}"},
              {"encoder.layers.encoder_layer_{i}.ln_1.{wb}", "blocks.{i}.norm1.{wb}"},
              {"encoder.layers.encoder_layer_{i}.self_attention.in_proj_{wb}",
               "blocks.{i}.attn.qkv.{wb}"},
              {"encoder.layers.encoder_layer_{i}.self_attention.out_proj.{wb}",
               "blocks.{i}.attn.proj.{wb}"},
              {"encoder.layers.encoder_layer_{i}.ln_2.{wb}", "blocks.{i}.norm2.{wb}"},
              {"encoder.layers.encoder_layer_{i}.mlp.{fc1}.{wb}", "blocks.{i}.mlp.fc1.{wb}"},
              {"encoder.layers.encoder_layer_{i}.mlp.{fc2}.{wb}", "blocks.{i}.mlp.fc2.{wb}"},
              {"encoder.ln.{wb}", "norm.{wb}"},
              {"heads.head.{wb}", "head.{wb}", {}, kOptional},
          },
      .spellings = {{"{fc1}", {"0", "linear_1"}}, {"{fc2}", {"3", "linear_2"}}},
      .refusals = {{"conv_proj.conv_bn_relu*", "a stem of convolutions is not supported"},
                   {"heads.pre_logits.*", "a head of two layers is not supported"}},
  };
}

/// Google's flax files; big_vision numbers the parts of a block otherwise.
NameMap google_vit_names() {
  using enum Step;
  return {
      .source = "a ViT of Google (.npz)",
      .signature = {"embedding/kernel", "Transformer/encoderblock_0/*"},
      .placeholders = {{"{dense}", {{"kernel", "weight"}, {"bias", "bias"}}},
                       {"{norm}", {{"scale", "weight"}, {"bias", "bias"}}}},
      .rows =
          {
              {"cls", kClassToken},
              {"{positions}", kPositions, {Positions}},
              {"embedding/{dense}", "patch_embed.proj.{dense}", {HwioToOihw}},
              {"Transformer/encoderblock_{i}/LayerNorm_0/{norm}", "blocks.{i}.norm1.{norm}"},
              {{"Transformer/encoderblock_{i}/{attention}/query/{dense}",
                "Transformer/encoderblock_{i}/{attention}/key/{dense}",
                "Transformer/encoderblock_{i}/{attention}/value/{dense}"},
               "blocks.{i}.attn.qkv.{dense}",
               {HeadsOut}},
              {"Transformer/encoderblock_{i}/{attention}/out/{dense}",
               "blocks.{i}.attn.proj.{dense}",
               {HeadsIn}},
              {"Transformer/encoderblock_{i}/{norm2}/{norm}", "blocks.{i}.norm2.{norm}"},
              {"Transformer/encoderblock_{i}/{mlp}/Dense_0/{dense}",
               "blocks.{i}.mlp.fc1.{dense}",
               {Transpose}},
              {"Transformer/encoderblock_{i}/{mlp}/Dense_1/{dense}",
               "blocks.{i}.mlp.fc2.{dense}",
               {Transpose}},
              {"Transformer/encoder_norm/{norm}", "norm.{norm}"},
              {"head/{dense}", "head.{dense}", {Transpose}, kOptional},
          },
      .skips = {{"*pre_logits/*", kPreLogits},
                {"*head/*", kPreTrainingHead, /*beside=*/"*pre_logits/*"},
                {"opt/state/*", "state of the optimizer"},
                {"opt/[0-9]*", "state of the optimizer"}},
      .prefixes = {"", "opt/target/", "params/", "params/img/"},
      .spellings = {{"{positions}", {"Transformer/posembed_input/pos_embedding", "pos_embedding"}},
                    {"{attention}",
                     {"MultiHeadDotProductAttention_1", "MultiHeadDotProductAttention_0"}},
                    {"{norm2}", {"LayerNorm_2", "LayerNorm_1"}},
                    {"{mlp}", {"MlpBlock_3", "MlpBlock_0"}}},
      .refusals = {{"*MAPHead_0/*",
                    "its head attends to the tokens (MAP), which no ViT of Vitrine "
                    "does"}},
  };
}

/// Blocks that are stacked along a first axis ("Transformer/encoderblock/..."), one by one.
TensorFile with_single_blocks(TensorFile file) {
  const std::string stacked = "Transformer/encoderblock/", single = "Transformer/encoderblock_";
  NamedTensors tensors;
  for (auto& [name, tensor] : file.tensors) {
    const auto at = name.find(stacked);
    if (at == name.npos || tensor.dim() == 0) {
      tensors.emplace_back(std::move(name), std::move(tensor));
      continue;
    }
    const auto before = name.substr(0, at), after = name.substr(at + stacked.size());
    for (int64_t i = 0; i < tensor.size(0); ++i)
      tensors.emplace_back(fmt::format("{}{}{}/{}", before, single, i, after), tensor.select(0, i));
  }
  file.tensors = std::move(tensors);
  return file;
}

/// The side of the square grid in a table of positions, and whether class token and distillation
/// token have rows.
struct PositionGrid {
  int64_t side = 0;
  bool class_row = true;
};

PositionGrid grid_of(const MappedFile& file) {
  const auto rows = file.our_shape(kPositions, 3)[1];
  const bool token = file.provides(kClassToken);
  const int64_t prefix = (token ? 1 : 0) + (file.provides(kDistillationToken) ? 1 : 0);
  for (const bool class_row : {true, false}) {
    if (class_row && !token) continue;
    const auto cells = rows - (class_row ? prefix : 0);
    const auto side = std::llround(std::sqrt(static_cast<double>(std::max<int64_t>(cells, 0))));
    if (cells > 0 && side * side == cells) return {side, class_row || !token};
  }
  fail("import: {}: {} positions are not those of {}a square grid", file.origin(), rows,
       prefix == 0   ? ""
       : prefix == 1 ? "a class token and "
                     : "two tokens and ");
}

/// The registered ViT that is most like one of these sizes.
std::string variant_of(int64_t dim, int64_t patch) {
  if (dim <= 192) return "vit_ti16";
  if (dim <= 384) return "vit_s16";
  if (dim >= 1280) return "vit_h14";
  if (dim >= 1024) return "vit_l16";
  return patch == 32 ? "vit_b32" : "vit_b16";
}

std::string distilled_variant_of(int64_t dim) {
  return dim <= 192   ? "deit_ti16_distilled"
         : dim <= 384 ? "deit_s16_distilled"
                      : "deit_b16_distilled";
}

/// Heads of 64 numbers, but for the largest ones (ViT-H, -g, -G), which have 16.
int64_t usual_heads(int64_t dim) {
  constexpr int64_t kHeadDim = 64, kMost = 16;
  return std::clamp<int64_t>(dim / kHeadDim, 1, kMost);
}

struct VitSource {
  double norm_eps = 1e-6;
  const char* activation = "gelu";
};

ModelDescription describe_vit(const MappedFile& file, const VitSource& source) {
  const auto projection = file.our_shape("patch_embed.proj.weight", 4);  // (C, channels, P, P)
  const auto grid = grid_of(file);
  const auto dim = projection[0], patch = projection[3];
  const bool distilled = file.provides(kDistillationToken);
  check(!distilled || file.provides("head.weight") == file.provides("head_dist.weight"),
        "import: {} holds a distillation token, but only one of its two heads; is the file "
        "complete?",
        file.origin());
  ModelDescription result = {
      .model = distilled ? distilled_variant_of(dim) : variant_of(dim, patch),
      .sizes = {{"patch", patch},
                {"channels", projection[1]},
                {"dim", dim},
                {"depth", file.blocks()},
                {"hidden", file.our_shape("blocks.0.mlp.fc1.weight", 2)[0]}},
      .settings = {fmt::format("image={}", grid.side * patch),
                   fmt::format("heads={}", usual_heads(dim)),
                   fmt::format("norm_eps={}", source.norm_eps),
                   fmt::format("activation={}", source.activation),
                   fmt::format("class_position={}", grid.class_row)},
      .classifier = file.provides("head.weight")};
  if (result.classifier) result.sizes.emplace_back("classes", file.our_shape("head.weight", 2)[0]);
  if (!file.provides(kClassToken)) result.settings.push_back("pool=mean");
  if (file.provides("blocks.0.ls1.gamma")) result.settings.push_back("layer_scale=1e-06");
  return result;
}

ModelDescription describe_google_vit(const MappedFile& file) {
  auto result = describe_vit(file, {.activation = "gelu_tanh"});
  std::erase_if(result.settings, [](const auto& guess) { return guess.starts_with("heads="); });
  result.sizes.emplace_back(
      "heads", file.their_size("Transformer/encoderblock_0/{attention}/query/kernel", 1));
  return result;
}

/// What the file's own image size would be.
ImageShape shape_of(const MappedFile& file) {
  const auto projection = file.our_shape("patch_embed.proj.weight", 4);  // (C, channels, P, P)
  return {.channels = projection[1], .image = grid_of(file).side * projection[3]};
}

/// DeiT has timm's names but the statistics of ImageNet. DeiT-III has LayerScale, a distilled one
/// its token; of the others only the name of the file tells.
ModelDescription describe_timm_vit(const MappedFile& file) {
  auto result = describe_vit(file, {});
  const auto name = fs::path(file.origin()).filename().string();
  if (name.find("deit") != name.npos || file.provides("blocks.0.ls1.gamma") ||
      file.provides(kDistillationToken))
    result.preprocess = deit_preprocess(shape_of(file));
  return result;
}

ModelDescription describe_hugging_face_vit(const MappedFile& file) {
  return describe_vit(file, {.norm_eps = 1e-12});
}

/// ViT-L/16 of torchvision is evaluated on a narrower border than the others.
ModelDescription describe_torchvision_vit(const MappedFile& file) {
  auto result = describe_vit(file, {});
  const auto shape = shape_of(file);
  if (result.model == "vit_l16" && shape.image == 224 &&
      file.our_shape("patch_embed.proj.weight", 4)[3] == 16) {
    result.preprocess = torchvision_preprocess(shape);
    result.preprocess->resize = 242;
  }
  return result;
}

}  // namespace

std::vector<NamedImporter> vit_importers() {
  return {
      {"timm_vit", Importer{.map = timm_vit_names(),
                            .describe = describe_timm_vit,
                            .preprocess = timm_preprocess,
                            .positions = PositionResize::BicubicAntialias,
                            .untold = kUntold}},
      {"hugging_face_deit", Importer{.map = hugging_face_deit_names(),
                                     .describe = describe_hugging_face_vit,
                                     .preprocess = deit_preprocess,
                                     .positions = PositionResize::Bicubic,
                                     .untold = kUntold}},
      {"hugging_face_vit", Importer{.map = hugging_face_vit_names(),
                                    .describe = describe_hugging_face_vit,
                                    .preprocess = hugging_face_preprocess,
                                    .positions = PositionResize::Bicubic,
                                    .untold = kUntold}},
      {"torchvision_vit", Importer{.map = torchvision_vit_names(),
                                   .describe = describe_torchvision_vit,
                                   .preprocess = torchvision_preprocess,
                                   .positions = PositionResize::Bicubic,
                                   .untold = kUntold}},
      {"google_vit", Importer{.map = google_vit_names(),
                              .describe = describe_google_vit,
                              .preprocess = google_preprocess,
                              .positions = PositionResize::Bilinear,
                              .untold = "preprocessing and the names of the classes",
                              .prepare = with_single_blocks}},
  };
}

}  // namespace vitrine
