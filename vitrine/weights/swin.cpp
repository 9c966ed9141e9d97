// Swin by others' names. One table for each source and version: how a source writes the parts of
// the network is all in which they differ.

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/hub_config.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr const char *kFollows = "it follows from the size of the windows",
                     *kAddedPositions = "positions that are added to the patches are not supported",
                     *kTable = "relative_position_bias_table",
                     *kCoordinates = "relative_coords_table";

/// The parts of a network as a source names them; those of a block come after `block`, and those of
/// its attention after `attention`.
struct SwinSource {
  std::string names;  // "Microsoft"
  std::string patches, patch_norm, block, merging, norm, head;
  std::string attention, norm1, norm2, out, fc1, fc2;
  Names qkv;                   // one layer or three
  std::string q_bias, v_bias;  // of version 2
  std::string bias_network = "cpb_mlp";
  Names signature{};  // beside patches and attention of the first block
  std::vector<Spelling> spellings{};
  TensorFile (*prepare)(TensorFile file) = nullptr;  // of version 2
};

SwinSource microsoft_swin() {
  return {.names = "Microsoft",
          .patches = "patch_embed.proj",
          .patch_norm = "patch_embed.norm",
          .block = "layers.{s}.blocks.{u}.",
          .merging = "layers.{s}.downsample.",
          .norm = "norm",
          .head = "head",
          .attention = "attn.",
          .norm1 = "norm1",
          .norm2 = "norm2",
          .out = "attn.proj",
          .fc1 = "mlp.fc1",
          .fc2 = "mlp.fc2",
          .qkv = "qkv",
          .q_bias = "q_bias",
          .v_bias = "v_bias",
          .signature = "layers.0.downsample.*"};
}

/// timm merges at the beginning of the next stage.
SwinSource timm_swin() {
  auto source = microsoft_swin();
  source.names = "timm";
  source.merging = "layers.{s+1}.downsample.";
  source.head = "head.fc";
  source.signature = "layers.1.downsample.*";
  return source;
}

/// The second version of torchvision keeps one bias for queries, keys and values, but computes
/// without that of keys.
TensorFile with_split_biases(TensorFile file) {
  const std::string bias = ".attn.qkv.bias", scale = ".attn.logit_scale";
  NamedTensors tensors;
  for (auto& [name, tensor] : file.tensors) {
    const auto block = name.substr(0, name.size() - std::min(name.size(), bias.size()));
    const bool splits = name.starts_with("features.") && name.ends_with(bias) &&
                        file.find(block + scale) != nullptr && tensor.dim() == 1 &&
                        tensor.size(0) > 0 && tensor.size(0) % 3 == 0;
    if (!splits) {
      tensors.emplace_back(name, tensor);
      continue;
    }
    const auto third = tensor.size(0) / 3;
    tensors.emplace_back(name + ".q", tensor.narrow(0, 0, third));
    tensors.emplace_back(name + ".k", tensor.narrow(0, third, third));
    tensors.emplace_back(name + ".v", tensor.narrow(0, 2 * third, third));
  }
  file.tensors = std::move(tensors);
  return file;
}

SwinSource torchvision_swin() {
  auto source = microsoft_swin();
  source.names = "torchvision";
  source.patches = "features.0.0";
  source.patch_norm = "features.0.2";
  source.block = "features.{2s+1}.{u}.";
  source.merging = "features.{2s+2}.";
  source.fc1 = "mlp.0";
  source.fc2 = "mlp.3";
  source.q_bias = "qkv.bias.q";
  source.v_bias = "qkv.bias.v";
  source.prepare = with_split_biases;
  source.signature = Names();
  return source;
}

/// Files of the model without its classifier have no "swin." before the names.
SwinSource hugging_face_swin(bool second) {
  return {.names = "Hugging Face",
          .patches = "{swin}embeddings.patch_embeddings.projection",
          .patch_norm = "{swin}embeddings.norm",
          .block = "{swin}encoder.layers.{s}.blocks.{u}.",
          .merging = "{swin}encoder.layers.{s}.downsample.",
          .norm = "{swin}layernorm",
          .head = "classifier",
          .attention = "attention.self.",
          .norm1 = "layernorm_before",
          .norm2 = "layernorm_after",
          .out = "attention.output.dense",
          .fc1 = "intermediate.dense",
          .fc2 = "output.dense",
          .qkv = {"query", "key", "value"},
          .q_bias = "query.bias",
          .v_bias = "value.bias",
          .bias_network = "continuous_position_bias_mlp",
          .spellings = {{"{swin}", {second ? "swinv2." : "swin.", ""}}}};
}

std::vector<NameRow> attention_rows(const SwinSource& source, bool second) {
  const auto theirs = source.block + source.attention;
  const std::string ours = "layers.{s}.blocks.{u}.attn.";
  const auto row = [&](const std::string& their_name, const std::string& our_name) {
    return NameRow{theirs + their_name, ours + our_name};
  };
  NameRow qkv{{}, ours + (second ? "qkv.weight" : "qkv.{wb}")};
  for (const auto& name : source.qkv)
    qkv.theirs.push_back(theirs + name + (second ? ".weight" : ".{wb}"));
  if (!second) return {qkv, row(kTable, kTable)};
  return {qkv,
          row(source.q_bias, "q_bias"),
          row(source.v_bias, "v_bias"),
          row("logit_scale", "logit_scale"),
          row(source.bias_network + ".0.{wb}", "cpb_mlp.0.{wb}"),
          row(source.bias_network + ".2.weight", "cpb_mlp.2.weight")};
}

NameMap swin_names(const SwinSource& source, bool second) {
  constexpr bool kMayBeAbsent = true;
  const std::string block = "layers.{s}.blocks.{u}.", merging = "layers.{s}.downsample.";
  const auto row = [](const std::string& theirs, const std::string& ours, bool optional = false) {
    return NameRow{theirs + ".{wb}", ours + ".{wb}", {}, optional};
  };
  NameMap map{
      .source = fmt::format("a Swin{} with the names of {}", second ? " v2" : "", source.names),
      .signature = source.signature,
      .placeholders = {{"{wb}", {{"weight", "weight"}, {"bias", "bias"}}}},
      .rows = {row(source.patches, "patch_embed.proj"), row(source.patch_norm, "patch_embed.norm"),
               row(source.block + source.norm1, block + "norm1"),
               row(source.block + source.out, block + "attn.proj"),
               row(source.block + source.norm2, block + "norm2"),
               row(source.block + source.fc1, block + "mlp.fc1"),
               row(source.block + source.fc2, block + "mlp.fc2"),
               // The last stage has none; `describe_swin` asks for the others.
               row(source.merging + "norm", merging + "norm", kMayBeAbsent),
               NameRow{source.merging + "reduction.weight",
                       merging + "reduction.weight",
                       {},
                       kMayBeAbsent},
               row(source.norm, "norm"), row(source.head, "head", kMayBeAbsent)},
      .skips = {{"*relative_position_index", kFollows},
                {fmt::format("*{}", kCoordinates), kFollows},
                {"*attn_mask", kFollows},
                {"*qkv.bias.k", "the bias of keys, which cosine attention does not use"},
                {"*mask_token", "only pre-training masks patches"}},
      .spellings = source.spellings,
      .refusals = {{"absolute_pos_embed", kAddedPositions},
                   {"*position_embeddings", kAddedPositions}}};
  const auto attention = attention_rows(source, second);
  map.rows.insert(map.rows.end(), attention.begin(), attention.end());
  // Whatever stands before the names, and in whatever way the first block is written.
  const auto first_block = [&] {
    auto name = source.block;
    for (const auto& [mark, number] : std::vector<std::pair<std::string, std::string>>{
             {"{swin}", "*"}, {"{s}", "0"}, {"{2s+1}", "1"}, {"{u}", "0"}})
      if (const auto at = name.find(mark); at != name.npos) name.replace(at, mark.size(), number);
    return name;
  }();
  map.signature.push_back(first_block + source.attention + (second ? "logit_scale" : kTable));
  return map;
}

/// The side of a window, of whose relative positions there are so many in a line.
int64_t window_of_line(int64_t positions) { return (positions + 1) / 2; }

/// The windows of the first and of the last stage; empty if nothing in the file tells.
std::vector<int64_t> window_sides(const MappedFile& file, bool second) {
  std::vector<int64_t> sides;
  if (second) {
    for (const auto& note : file.account().notes)
      if (note.theirs.ends_with(kCoordinates))  // (1, 2 window - 1, 2 window - 1, 2)
        sides.push_back(window_of_line(file.their_size(note.theirs, 1)));
    return sides;
  }
  for (size_t s = 0; s < file.units().size(); ++s) {
    const auto name = fmt::format("layers.{}.blocks.0.attn.{}", s, kTable);
    const auto rows = file.our_shape(name, 2)[0];
    const auto line = std::llround(std::sqrt(static_cast<double>(rows)));
    check(line * line == rows && line % 2 == 1,
          "import: {}: '{}' has {} rows, which are not the relative positions of a square window",
          file.origin(), name, rows);
    sides.push_back(window_of_line(line));
  }
  return sides;
}

std::string variant_of_swin(int64_t dim, const std::vector<int64_t>& depths, bool second) {
  const bool deep = depths.size() > 2 && depths[2] > 6;
  const std::string size = dim > 128 && !second ? "l" : dim > 96 ? "b" : deep ? "s" : "t";
  return (second ? "swin_v2_" : "swin_") + size;
}

std::vector<int64_t> heads_of_stages(const MappedFile& file, bool second) {
  constexpr size_t kMostStages = 6;
  check(file.units().size() <= kMostStages, "import: {} has {} stages; no Swin has more than {}",
        file.origin(), file.units().size(), kMostStages);
  std::vector<int64_t> heads;
  for (size_t s = 0; s < file.units().size(); ++s) {
    check(file.units()[s] > 0, "import: {} has no blocks in stage {}; is it complete?",
          file.origin(), s + 1);
    const auto attention = fmt::format("layers.{}.blocks.0.attn.", s);
    heads.push_back(second ? file.our_shape(attention + "logit_scale", 3)[0]
                           : file.our_shape(attention + kTable, 2)[1]);
    for (const auto* part : {"norm.weight", "norm.bias", "reduction.weight"})
      check(s + 1 == file.units().size() ||
                file.provides(fmt::format("layers.{}.downsample.{}", s, part)),
            "import: {} lacks '{}' between stages {} and {}; is it complete?", file.origin(), part,
            s + 1, s + 2);
  }
  return heads;
}

ModelDescription describe_swin(const MappedFile& file, bool second) {
  const auto projection = file.our_shape("patch_embed.proj.weight", 4);  // (C, channels, P, P)
  const auto dim = projection[0], patch = projection[3];
  check(dim > 0, "import: {}: the patches have no channels", file.origin());
  const auto heads = heads_of_stages(file, second);
  const auto& depths = file.units();
  ModelDescription result = {
      .model = variant_of_swin(dim, depths, second),
      .sizes = {{"patch", patch},
                {"channels", projection[1]},
                {"dim", dim},
                {"mlp_ratio", file.our_shape("layers.0.blocks.0.mlp.fc1.weight", 2)[0] / dim}},
      .settings = {fmt::format("depths=[{}]", fmt::join(depths, ", ")),
                   fmt::format("heads=[{}]", fmt::join(heads, ", "))},
      .classifier = file.provides("head.weight")};
  if (result.classifier) result.sizes.emplace_back("classes", file.our_shape("head.weight", 2)[0]);
  const auto sides = window_sides(file, second);
  if (!sides.empty()) {
    if (second)
      result.settings.push_back(fmt::format("window={}", sides.front()));
    else
      result.sizes.emplace_back("window", sides.front());
    // In every published network one window is the whole grid of the last stage.
    const auto last = sides.back() << (file.units().size() - 1);
    result.settings.push_back(fmt::format("image={}", patch * last));
  }
  if (second)
    for (const auto& told : swin_name_settings(fs::path(file.origin()).filename().string()))
      if (sides.empty() || told.key == "pretrained_windows")
        result.settings.push_back(told.key + "=" + told.value);
  return result;
}

Preprocess swin_preprocess(const ImageShape& shape, int64_t resize) {
  return imagenet_preprocess(shape, resize, Interpolation::Bicubic);
}

/// 256 pixels for 224; larger images are squeezed into the square.
Preprocess microsoft_swin_preprocess(const ImageShape& shape) {
  auto how = swin_preprocess(shape, shape.image < 384 ? shape.image * 8 / 7 : shape.image);
  how.stretch = shape.image >= 384;
  return how;
}

/// timm crops nine tenths, and everything at 384.
Preprocess timm_swin_preprocess(const ImageShape& shape) {
  return swin_preprocess(shape, shape.image < 384 ? shape.image * 10 / 9 : shape.image);
}

Preprocess hugging_face_swin_preprocess(const ImageShape& shape) {
  auto how = swin_preprocess(shape, shape.image);
  how.stretch = true;
  return how;
}

/// That of Swin-T, for models of other sizes than torchvision's.
Preprocess torchvision_swin_preprocess(const ImageShape& shape) {
  return swin_preprocess(shape, shape.image * 232 / 224);
}

/// Each of torchvision's models has a border of its own.
ModelDescription describe_torchvision_swin(const MappedFile& file, bool second) {
  constexpr std::pair<const char*, int64_t> kResize[] = {{"swin_t", 232},    {"swin_s", 246},
                                                         {"swin_b", 238},    {"swin_v2_t", 260},
                                                         {"swin_v2_s", 260}, {"swin_v2_b", 272}};
  auto result = describe_swin(file, second);
  for (const auto& [model, resize] : kResize)
    if (result.model == model)
      result.preprocess = swin_preprocess({.image = second ? 256 : 224}, resize);
  if (file.our_shape("patch_embed.proj.weight", 4)[1] != 3) result.preprocess.reset();
  return result;
}

Importer swin_importer(const SwinSource& source, bool second,
                       ModelDescription (*describe)(const MappedFile&),
                       Preprocess (*preprocess)(const ImageShape&)) {
  return {.map = swin_names(source, second),
          .describe = describe,
          .preprocess = preprocess,
          .untold = second ? "the sizes of windows and images, unless the name of the file says "
                             "them, preprocessing and the names of the classes"
                           : "preprocessing and the names of the classes",
          .prepare = second ? source.prepare : nullptr};
}

template <bool kSecond>
ModelDescription describe_version(const MappedFile& file) {
  return describe_swin(file, kSecond);
}

template <bool kSecond>
ModelDescription describe_torchvision_version(const MappedFile& file) {
  return describe_torchvision_swin(file, kSecond);
}

template <bool kSecond>
void add_swin_importers(std::vector<NamedImporter>& importers) {
  const std::string family = kSecond ? "swin_v2" : "swin";
  const auto add = [&](const std::string& name, const SwinSource& source, auto describe,
                       auto preprocess) {
    importers.push_back({name + family, swin_importer(source, kSecond, describe, preprocess)});
  };
  // Microsoft's come before timm's, which they resemble but for the merging of the first stage.
  const auto describe = describe_version<kSecond>;
  add("microsoft_", microsoft_swin(), describe, microsoft_swin_preprocess);
  add("timm_", timm_swin(), describe, timm_swin_preprocess);
  add("hugging_face_", hugging_face_swin(kSecond), describe, hugging_face_swin_preprocess);
  add("torchvision_", torchvision_swin(), describe_torchvision_version<kSecond>,
      torchvision_swin_preprocess);
}

}  // namespace

std::vector<NamedImporter> swin_importers() {
  std::vector<NamedImporter> importers;
  add_swin_importers</*kSecond=*/false>(importers);
  add_swin_importers</*kSecond=*/true>(importers);
  return importers;
}

}  // namespace vitrine
