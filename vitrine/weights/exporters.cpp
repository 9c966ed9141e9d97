#include "vitrine/weights/exporters.h"

#include <torch/torch.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
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

 private:
  YAML::Node root_;
};

/// A source that weights can be exported to.
struct Exporter {
  std::string importer;  // whose table is read backwards
  double norm_eps;
  /// What its models must be: a setting and the values that it may have.
  std::vector<std::pair<std::string, std::vector<std::string>>> limits;
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

std::string timm_architecture(int64_t dim) {
  const auto size = dim <= 192 ? "tiny" : dim <= 384 ? "small" : dim <= 768 ? "base" : "large";
  return fmt::format("vit_{}_patch16_224", size);
}

void add_timm_files(const SettingTexts& s, const CheckpointInfo& info, ExportedWeights& result) {
  const auto& how = info.preprocess.value();
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
  const ordered_json root = {
      {"architecture", timm_architecture(dim)},
      {"num_classes", classes},
      {"num_features", dim},
      {"global_pool", token ? "token" : "avg"},
      {"label_names", info.classes},
      {"model_args", args},
      {"pretrained_cfg",
       {{"custom_load", false},
        {"input_size", {how.channels, how.image, how.image}},
        {"fixed_input_size", true},
        {"interpolation", interpolation_text(how.interpolation)},
        {"crop_pct", how.stretch ? 1.0 : crop_fraction(how.image, how.resize)},
        {"crop_mode", how.stretch ? "squash" : "center"},
        {"mean", how.mean},
        {"std", how.std},
        {"num_classes", classes},
        {"pool_size", nullptr},
        {"first_conv", "patch_embed.proj"},
        {"classifier", "head"}}}};
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
      {"architectures", {"ViTForImageClassification"}},
      {"model_type", "vit"},
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

const Exporter& exporter_of(WeightNames names) {
  static const std::map<WeightNames, Exporter> exporters = {
      {WeightNames::Timm, {"timm_vit", 1e-6, {{"activation", kActivations}}, add_timm_files}},
      {WeightNames::HuggingFace,
       {"hugging_face_vit",
        0,
        {{"activation", kActivations}, {"pool", {"token"}}, {"class_position", {"true"}}},
        add_hugging_face_files}},
      {WeightNames::Torchvision,
       {"torchvision_vit",
        1e-6,
        {{"activation", {"gelu"}}, {"pool", {"token"}}, {"class_position", {"true"}}},
        note_bare_file}},
      {WeightNames::Google,
       {"google_vit",
        1e-6,
        {{"activation", {"gelu_tanh", "gelu"}}, {"pool", {"token"}}, {"class_position", {"true"}}},
        note_bare_file}},
  };
  return exporters.at(names);
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
  const auto& exporter = exporter_of(names);
  const auto& map = importers().get(exporter.importer).map;
  const SettingTexts settings(info.model);
  check_limits(settings, exporter, map.source);
  ExportedWeights result{
      exported(map, named_weights(*model), weight_shapes(*model), settings.whole("heads"))};
  for (auto& [name, tensor] : result.tensors) tensor = tensor.detach();
  exporter.add_files(settings, info, result);
  const auto eps = settings.real("norm_eps");
  if (exporter.norm_eps > 0 && eps != exporter.norm_eps)
    result.notes.push_back(
        fmt::format("{} has {:g} as epsilon of LayerNorm, this model {:g}: outputs differ slightly",
                    map.source, exporter.norm_eps, eps));
  if (names == WeightNames::Google && settings.text("activation") == "gelu")
    result.notes.push_back(
        "Google's code computes GELU with tanh, this model with erf: outputs differ slightly");
  return result;
}

}  // namespace vitrine
