#include "vitrine/weights/exporters.h"

#include <torch/torch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/importers.h"

namespace vitrine {
namespace {

using nlohmann::ordered_json;

/// The settings of a model, as its config writes them.
class SettingTexts {
 public:
  explicit SettingTexts(const ModelChoice& choice) : root_(YAML::Load(to_yaml(choice))) {}

  /// "" if the model has no such setting.
  std::string text(const std::string& key) const {
    const auto dot = key.find('.');
    const YAML::Node first = root_[key.substr(0, dot)];
    if (!first.IsDefined()) return "";
    if (dot == key.npos) return first.IsScalar() ? first.Scalar() : "";
    const YAML::Node second = first.IsMap() ? first[key.substr(dot + 1)] : YAML::Node();
    return second.IsDefined() && second.IsScalar() ? second.Scalar() : "";
  }
  int64_t whole(const std::string& key) const {
    return text(key).empty() ? 0 : std::stoll(text(key));
  }
  double real(const std::string& key) const { return text(key).empty() ? 0 : std::stod(text(key)); }
  /// The blocks per stage of a backbone.
  std::vector<int64_t> backbone_blocks() const {
    return root_["backbone"]["blocks"].as<std::vector<int64_t>>();
  }

 private:
  YAML::Node root_;
};

/// A source that weights can be exported to.
struct Exporter {
  std::string importer;  // whose table is read backwards
  /// What its models must be: a setting and the values that it may have.
  std::vector<std::pair<std::string, std::vector<std::string>>> limits;
  /// What its programs take for granted and hardly matters: a setting and its value.
  std::vector<std::pair<std::string, std::string>> assumed;
  void (*add_files)(const SettingTexts& settings, const CheckpointInfo& info,
                    ExportedWeights& result);
};

double rounded_at(double value, int digits) {
  const auto scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

/// A short number whose quotient with `whole`, rounded down, is `wanted`.
double crop_fraction(int64_t whole, int64_t wanted) {
  const auto quotient = [&](double fraction) {
    return static_cast<int64_t>(std::floor(static_cast<double>(whole) / fraction));
  };
  const auto exact = static_cast<double>(whole) / static_cast<double>(wanted);
  for (int digits = 1; digits <= 6; ++digits)
    if (const auto shorter = rounded_at(exact, digits); shorter > 0 && quotient(shorter) == wanted)
      return shorter;
  return static_cast<double>(whole) / (static_cast<double>(wanted) + 0.5);
}

/// A ratio whose product with `dim`, rounded down, is `hidden`.
double mlp_ratio(int64_t dim, int64_t hidden) {
  const auto exact = static_cast<double>(hidden) / static_cast<double>(dim);
  const bool fits = std::floor(exact * static_cast<double>(dim)) == static_cast<double>(hidden);
  return fits ? exact : (static_cast<double>(hidden) + 0.5) / static_cast<double>(dim);
}

const char* interpolation_text(Interpolation interpolation) {
  return interpolation == Interpolation::Bicubic    ? "bicubic"
         : interpolation == Interpolation::Bilinear ? "bilinear"
                                                    : "nearest";
}

bool is_distilled(const SettingTexts& s) { return s.text("distilled") == "true"; }

std::string timm_architecture(const SettingTexts& s) {
  const auto dim = s.whole("dim");
  const auto size = dim <= 192 ? "tiny" : dim <= 384 ? "small" : dim <= 768 ? "base" : "large";
  if (is_distilled(s))  // there is no larger one
    return fmt::format("deit_{}_distilled_patch16_224", dim > 768 ? "base" : size);
  return fmt::format("vit_{}_patch16_224", size);
}

/// What timm's config.json says of the images and of the layers that depend on channels and
/// classes.
ordered_json timm_pretrained_config(const CheckpointInfo& info, const std::string& first_conv,
                                    const ordered_json& classifier) {
  const auto& how = info.preprocess.value();
  return {{"custom_load", false},
          {"input_size", {how.channels, how.image, how.image}},
          {"fixed_input_size", true},
          {"interpolation", interpolation_text(how.interpolation)},
          {"crop_pct", how.stretch ? 1.0 : crop_fraction(how.image, how.resize)},
          {"crop_mode", how.stretch ? "squash" : "center"},
          {"mean", how.mean},
          {"std", how.std},
          {"num_classes", info.classes.size()},
          {"pool_size", nullptr},
          {"first_conv", first_conv},
          {"classifier", classifier}};
}

void add_timm_vit(const SettingTexts& s, const CheckpointInfo& info,
                  const std::string& architecture, const std::string& first_conv,
                  ExportedWeights& result) {
  const bool token = s.text("pool") == "token";
  const auto dim = s.whole("dim"), classes = s.whole("classes");
  ordered_json args = {{"img_size", s.whole("image")},
                       {"patch_size", s.whole("patch")},
                       {"in_chans", s.whole("channels")},
                       {"embed_dim", dim},
                       {"depth", s.whole("depth")},
                       {"num_heads", s.whole("heads")},
                       {"mlp_ratio", mlp_ratio(dim, s.whole("hidden"))}};
  if (s.text("activation") != "gelu") args["act_layer"] = s.text("activation");
  if (s.real("layer_scale") > 0) args["init_values"] = s.real("layer_scale");
  if (token && s.text("class_position") == "false") args["no_embed_class"] = true;
  if (!token) args.update({{"class_token", false}, {"fc_norm", false}});
  const auto heads = is_distilled(s) ? ordered_json{"head", "head_dist"} : ordered_json("head");
  const ordered_json root = {{"architecture", architecture},
                             {"num_classes", classes},
                             {"num_features", dim},
                             {"global_pool", token ? "token" : "avg"},
                             {"label_names", info.classes},
                             {"model_args", args},
                             {"pretrained_cfg", timm_pretrained_config(info, first_conv, heads)}};
  result.files.emplace_back("config.json", root.dump(2) + "\n");
}

void add_timm_files(const SettingTexts& s, const CheckpointInfo& info, ExportedWeights& result) {
  add_timm_vit(s, info, timm_architecture(s), "patch_embed.proj", result);
}

void add_timm_hybrid_files(const SettingTexts& s, const CheckpointInfo& info,
                           ExportedWeights& result) {
  static const std::map<std::vector<int64_t>, std::string> architectures = {
      {{}, "vit_tiny_r_s16_p8_224"},
      {{2, 2, 2, 2}, "vit_small_r26_s32_224"},
      {{3, 4, 9}, "vit_base_r50_s16_224"},
      {{3, 4, 6, 3}, "vit_large_r50_s32_224"}};
  constexpr int64_t kWidth = 64;
  const auto blocks = s.backbone_blocks();
  const auto found = architectures.find(blocks);
  if (found == architectures.end() || s.whole("backbone.width") != kWidth)
    result.notes.push_back(fmt::format(
        "timm has no hybrid with backbone.blocks=[{}] and backbone.width={}, so no config.json can "
        "describe it",
        fmt::join(blocks, ", "), s.whole("backbone.width")));
  else
    add_timm_vit(s, info, found->second,
                 blocks.empty() ? "patch_embed.backbone.conv" : "patch_embed.backbone.stem.conv",
                 result);
}

void add_timm_resnet_files(const SettingTexts& s, const CheckpointInfo& info,
                           ExportedWeights& result) {
  constexpr int64_t kBasicFeatures = 512, kBottleneckFeatures = 2048;
  const ordered_json root = {
      {"architecture", s.text("name")},
      {"num_classes", info.classes.size()},
      {"num_features", s.text("block") == "basic" ? kBasicFeatures : kBottleneckFeatures},
      {"global_pool", "avg"},
      {"label_names", info.classes},
      {"model_args", {{"in_chans", s.whole("channels")}}},
      {"pretrained_cfg", timm_pretrained_config(info, "conv1", "fc")}};
  result.files.emplace_back("config.json", root.dump(2) + "\n");
}

void add_hugging_face_files(const SettingTexts& s, const CheckpointInfo& info,
                            ExportedWeights& result) {
  const auto activation = s.text("activation");
  ordered_json labels = ordered_json::object(), numbers = ordered_json::object();
  for (size_t i = 0; i < info.classes.size(); ++i) {
    labels[std::to_string(i)] = info.classes[i];
    numbers[info.classes[i]] = i;
  }
  const ordered_json config = {
      {"architectures",
       {is_distilled(s) ? "DeiTForImageClassificationWithTeacher" : "ViTForImageClassification"}},
      {"model_type", is_distilled(s) ? "deit" : "vit"},
      {"hidden_size", s.whole("dim")},
      {"num_hidden_layers", s.whole("depth")},
      {"num_attention_heads", s.whole("heads")},
      {"intermediate_size", s.whole("hidden")},
      {"hidden_act", activation == "gelu_tanh" ? "gelu_pytorch_tanh" : activation},
      {"hidden_dropout_prob", s.real("dropout")},
      {"attention_probs_dropout_prob", s.real("attention_dropout")},
      {"layer_norm_eps", s.real("norm_eps")},
      {"image_size", s.whole("image")},
      {"patch_size", s.whole("patch")},
      {"num_channels", s.whole("channels")},
      {"qkv_bias", true},
      {"id2label", labels},
      {"label2id", numbers}};
  result.files.emplace_back("config.json", config.dump(2) + "\n");
  const auto& how = info.preprocess.value();
  const auto square = [](int64_t side) { return ordered_json{{"height", side}, {"width", side}}; };
  ordered_json processor = {
      // That of ViT squeezes images into the square; CLIP's crops the middle.
      {"image_processor_type", how.stretch ? "ViTImageProcessor" : "CLIPImageProcessor"},
      {"do_resize", true},
      {"size", how.stretch ? square(how.image) : ordered_json{{"shortest_edge", how.resize}}},
      {"resample", how.interpolation == Interpolation::Bicubic    ? 3
                   : how.interpolation == Interpolation::Bilinear ? 2
                                                                  : 0},
      {"do_rescale", true},
      {"rescale_factor", 1.0 / 255},
      {"do_normalize", true},
      {"image_mean", how.mean},
      {"image_std", how.std}};
  if (!how.stretch) processor.update({{"do_center_crop", true}, {"crop_size", square(how.image)}});
  result.files.emplace_back("preprocessor_config.json", processor.dump(2) + "\n");
}

/// For sources that publish bare files.
void note_bare_file(const SettingTexts& /*settings*/, const CheckpointInfo& /*info*/,
                    ExportedWeights& result) {
  result.notes.push_back("preprocessing and the names of the classes are not in such a file");
}

const std::vector<std::string> kActivations = {"gelu", "gelu_tanh", "quick_gelu", "relu"};
constexpr const char *kEps = "norm_eps", *kBackboneEps = "backbone.norm_eps",
                     *kStandardize = "backbone.standardize";

using Exporters = std::vector<Exporter>;

/// One for each variant, with the names of torchvision, which timm has, too.
Exporters with_resnets(Exporters exporters, decltype(Exporter::add_files) add_files) {
  for (const auto* variant : {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"})
    exporters.push_back({fmt::format("torchvision_{}", variant),
                         {{"name", {variant}}, {"stem", {"imagenet"}}, {"stride_first", {"false"}}},
                         {{kEps, "1e-05"}},
                         add_files});
  return exporters;
}

/// The exporters of a source, one per family of models.
const Exporters& exporters_of(WeightNames names) {
  using Settings = decltype(Exporter::assumed);
  static const Settings timm_hybrid = {
      {kEps, "1e-06"}, {kBackboneEps, "1e-05"}, {kStandardize, "variance"}};
  static const decltype(Exporter::limits) class_token = {{"activation", {"gelu"}},
                                                         {"pool", {"token"}},
                                                         {"class_position", {"true"}}},
                                          any_gelu = {{"activation", {"gelu_tanh", "gelu"}},
                                                      {"pool", {"token"}},
                                                      {"class_position", {"true"}}},
                                          any_activation = {{"activation", kActivations},
                                                            {"pool", {"token"}},
                                                            {"class_position", {"true"}}};
  static const std::map<WeightNames, Exporters> exporters = {
      {WeightNames::Timm,
       with_resnets(
           {{"timm_vit", {{"activation", kActivations}}, {{kEps, "1e-06"}}, add_timm_files},
            {"timm_hybrid_stem",
             {{"activation", kActivations}},
             timm_hybrid,
             add_timm_hybrid_files},
            {"timm_hybrid", {{"activation", kActivations}}, timm_hybrid, add_timm_hybrid_files}},
           add_timm_resnet_files)},
      {WeightNames::HuggingFace,
       {{"hugging_face_vit", any_activation, {}, add_hugging_face_files},
        {"hugging_face_deit", any_activation, {}, add_hugging_face_files}}},
      {WeightNames::Torchvision,
       with_resnets({{"torchvision_vit", class_token, {{kEps, "1e-06"}}, note_bare_file}},
                    note_bare_file)},
      {WeightNames::Google,
       {{"google_vit", any_gelu, {{kEps, "1e-06"}, {"activation", "gelu_tanh"}}, note_bare_file},
        {"google_hybrid",
         any_gelu,
         {{kEps, "1e-06"},
          {"activation", "gelu_tanh"},
          {kBackboneEps, "1e-06"},
          {kStandardize, "std"}},
         note_bare_file}}},
  };
  return exporters.at(names);
}

const NameMap& map_of(const Exporter& exporter) { return importers().get(exporter.importer).map; }

/// The one whose names fit the model best; what does not fit is said when it is tried.
const Exporter& best_exporter(const Exporters& exporters, const NamedTensors& weights) {
  return *std::max_element(exporters.begin(), exporters.end(),
                           [&](const Exporter& a, const Exporter& b) {
                             return fit_of(map_of(a), weights) < fit_of(map_of(b), weights);
                           });
}

/// Whether two texts of settings are the same name or number.
bool is_same_value(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text) { return std::strtod(text.c_str(), nullptr); };
  return a == b || (number(a) != 0 && number(a) == number(b));
}

/// Refuses what their model cannot be.
void check_limits(const SettingTexts& settings, const Exporter& exporter,
                  const std::string& source) {
  auto limits = exporter.limits;
  limits.insert(limits.end(), {{"norm", {"pre"}},
                               {"head", {"linear"}},
                               {"positions", {"learned"}},
                               {"attention.kind", {"softmax"}}});
  for (const auto& [key, allowed] : limits) {
    const auto value = settings.text(key);
    check(value.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end(),
          "export: {} has {} {}, but this model has {}", source, key, fmt::join(allowed, " or "),
          value);
  }
}

}  // namespace

const Choices<WeightNames>& weight_names() {
  static const Choices<WeightNames> names = {{"timm", WeightNames::Timm},
                                             {"hf", WeightNames::HuggingFace},
                                             {"torchvision", WeightNames::Torchvision},
                                             {"google", WeightNames::Google}};
  return names;
}

ExportedWeights export_weights(const LoadedCheckpoint& checkpoint, WeightNames names) {
  const auto& [model, info] = checkpoint;
  const auto weights = named_weights(*model);
  const auto& exporter = best_exporter(exporters_of(names), weights);
  const auto& map = map_of(exporter);
  const SettingTexts settings(info.model);
  check_limits(settings, exporter, map.source);
  ExportedWeights result{exported(map, weights, weight_shapes(*model), settings.whole("heads"))};
  for (auto& [name, tensor] : result.tensors) tensor = tensor.detach();
  exporter.add_files(settings, info, result);
  for (const auto& [key, theirs] : exporter.assumed)
    if (const auto ours = settings.text(key); !is_same_value(ours, theirs))
      result.notes.push_back(
          fmt::format("{} is computed with {}={}, this model with {}={}: outputs differ slightly",
                      map.source, key, theirs, key, ours));
  return result;
}

}  // namespace vitrine
