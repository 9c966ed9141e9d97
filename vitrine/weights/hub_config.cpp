#include "vitrine/weights/hub_config.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "vitrine/core/error.h"
#include "vitrine/core/json_nesting.h"
#include "vitrine/plot/text.h"

namespace vitrine {
namespace {

using nlohmann::json;

constexpr double kPixelScale = 1.0 / 255;

/// Their names of activation functions.
std::string our_activation(const std::string& theirs, const std::string& entry) {
  for (const auto& [name, ours] :
       std::vector<std::pair<std::string, std::string>>{{"gelu", "gelu"},
                                                        {"gelu_new", "gelu_tanh"},
                                                        {"gelu_pytorch_tanh", "gelu_tanh"},
                                                        {"gelu_tanh", "gelu_tanh"},
                                                        {"quick_gelu", "quick_gelu"},
                                                        {"relu", "relu"}})
    if (name == theirs) return ours;
  fail("import: {} '{}' is not supported", entry, theirs);
}

/// Numbers that are ours under another name.
void add_renamed(const json& object, const std::string& where,
                 const std::vector<std::pair<std::string, std::string>>& names,
                 std::vector<HubSetting>& settings) {
  for (const auto& [theirs, ours] : names) {
    const auto found = object.find(theirs);
    if (found == object.end() || found->is_null()) continue;
    check(found->is_number(), "import: {}{} {} is not a number", where, theirs, found->dump());
    settings.push_back({ours, found->dump(), where + theirs});
  }
}

/// Lists with a number for each stage that are ours under another name.
void add_stages(const json& object, const std::vector<std::pair<std::string, std::string>>& names,
                std::vector<HubSetting>& settings) {
  for (const auto& [theirs, ours] : names) {
    const auto found = object.find(theirs);
    if (found == object.end() || found->is_null()) continue;
    check(found->is_array() && std::all_of(found->begin(), found->end(),
                                           [](const json& value) { return value.is_number(); }),
          "import: {} {} is not a list of numbers", theirs, found->dump());
    settings.push_back({ours, found->dump(), theirs});
  }
}

/// Entries that a model of ours cannot have otherwise.
void check_fixed(const json& object, const std::string& where, const json& fixed) {
  for (const auto& [key, value] : fixed.items()) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) continue;
    check(*found == value, "import: {}{} {} is not supported, only {}", where, key, found->dump(),
          value.dump());
  }
}

/// "vit_base_patch16_224" and the like tell the embedding dimension and the patch.
void add_architecture(const std::string& architecture, std::vector<HubSetting>& settings) {
  static const std::regex pattern(
      "(?:vit|deit|deit3)_(tiny|small|medium|base|large|huge)(?:_distilled)?_patch([0-9]{1,3})_[0-"
      "9]+.*");
  static const std::map<std::string, std::string> dims = {{"tiny", "192"},   {"small", "384"},
                                                          {"medium", "512"}, {"base", "768"},
                                                          {"large", "1024"}, {"huge", "1280"}};
  std::smatch match;
  if (!std::regex_match(architecture, match, pattern)) return;
  settings.push_back({"dim", dims.at(match[1]), "architecture " + architecture + ", dim"});
  settings.push_back({"patch", match[2], "architecture " + architecture + ", patch"});
}

/// What timm's constructor is called with; it overrides what the architecture says.
void add_model_args(const json& args, std::vector<HubSetting>& settings) {
  const std::string where = "model_args.";
  const std::vector<std::pair<std::string, std::string>> renamed = {
      {"img_size", "image"},     {"patch_size", "patch"}, {"in_chans", "channels"},
      {"embed_dim", "dim"},      {"depth", "depth"},      {"num_heads", "heads"},
      {"num_classes", "classes"}};
  const json fixed = {{"qkv_bias", true}, {"qk_norm", false}, {"pre_norm", false},
                      {"reg_tokens", 0},  {"fc_norm", false}, {"final_norm", true},
                      {"proj_bias", true}};
  const std::vector<std::string> of_training = {
      "drop_rate",      "pos_drop_rate", "patch_drop_rate", "proj_drop_rate",  "attn_drop_rate",
      "drop_path_rate", "weight_init",   "fix_init",        "strict_img_size", "dynamic_img_size"};
  const std::vector<std::string> read_below = {"mlp_ratio",   "init_values", "no_embed_class",
                                               "class_token", "global_pool", "act_layer"};
  for (const auto& [key, value] : args.items()) {
    const auto is_key = [&key = key](const auto& pair) { return pair.first == key; };
    check(std::any_of(renamed.begin(), renamed.end(), is_key) || fixed.contains(key) ||
              std::count(of_training.begin(), of_training.end(), key) > 0 ||
              std::count(read_below.begin(), read_below.end(), key) > 0,
          "import: model_args.{} {} is not known, so the model may be another one", key,
          value.dump());
    const auto ours = std::find_if(renamed.begin(), renamed.end(), is_key);
    if (ours != renamed.end())
      std::erase_if(settings, [&](const HubSetting& s) { return s.key == ours->second; });
  }
  add_renamed(args, where, renamed, settings);
  check_fixed(args, where, fixed);
  if (args.contains("mlp_ratio"))
    for (const auto& setting : std::vector(settings))
      if (setting.key == "dim")
        settings.push_back({"hidden",
                            std::to_string(static_cast<int64_t>(std::stod(setting.value) *
                                                                args["mlp_ratio"].get<double>())),
                            where + "mlp_ratio"});
  if (args.contains("init_values") && args["init_values"].is_number())
    settings.push_back({"layer_scale", args["init_values"].dump(), where + "init_values"});
  if (args.contains("no_embed_class"))
    settings.push_back({"class_position", args["no_embed_class"].get<bool>() ? "false" : "true",
                        where + "no_embed_class"});
  if (args.contains("class_token"))
    settings.push_back(
        {"pool", args["class_token"].get<bool>() ? "token" : "mean", where + "class_token"});
  if (args.contains("act_layer"))
    settings.push_back({"activation", our_activation(args["act_layer"], where + "act_layer"),
                        where + "act_layer"});
}

Interpolation interpolation_named(const std::string& name, const std::string& entry) {
  if (name == "bicubic") return Interpolation::Bicubic;
  if (name == "nearest") return Interpolation::Nearest;
  check(name == "bilinear",
        "import: {} '{}' is not supported; it is one of nearest, bilinear and "
        "bicubic",
        entry, name);
  return Interpolation::Bilinear;
}

Preprocess timm_config_preprocess(const json& cfg) {
  const std::vector<int64_t> size = cfg.value("input_size", std::vector<int64_t>{3, 224, 224});
  check(size.size() == 3 && size[1] == size[2] && size[1] > 0,
        "import: pretrained_cfg.input_size {} is not that of a square image",
        cfg.value("input_size", json()).dump());
  const auto crop = cfg.value("crop_pct", 0.875);
  const auto mode = cfg.value("crop_mode", "center");
  check(crop > 0 && crop <= 1, "import: pretrained_cfg.crop_pct {} is not a fraction", crop);
  check(mode == "center" || mode == "squash",
        "import: pretrained_cfg.crop_mode '{}' is not supported, only center and squash", mode);
  Preprocess how{.image = size[1], .resize = size[1], .channels = size[0]};
  how.stretch = mode == "squash";
  if (!how.stretch)
    how.resize = static_cast<int64_t>(std::floor(static_cast<double>(size[1]) / crop));
  how.interpolation =
      interpolation_named(cfg.value("interpolation", "bicubic"), "pretrained_cfg.interpolation");
  how.mean = cfg.value("mean", std::vector<double>{0.485, 0.456, 0.406});
  how.std = cfg.value("std", std::vector<double>{0.229, 0.224, 0.225});
  how.validate();
  return how;
}

/// A list of names, or an object from number to name.
std::vector<std::string> names_of(const json& labels, const std::string& entry) {
  if (labels.is_array()) return plot::clean_texts(labels);
  std::vector<std::string> names;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto found = labels.find(std::to_string(i));
    check(found != labels.end(), "import: {} has {} names, but none for class {}", entry,
          labels.size(), i);
    names.push_back(plot::clean_text(found->get<std::string>()));
  }
  return names;
}

void add_timm_vit(const json& root, std::vector<HubSetting>& settings) {
  add_architecture(root["architecture"], settings);
  add_renamed(root, "", {{"num_features", "dim"}}, settings);
  const auto args = root.value("model_args", json::object());
  add_model_args(args, settings);
  const auto pool = args.value("global_pool", root.value("global_pool", "token"));
  const bool token = args.value("class_token", true);
  check(pool == (token ? "token" : "avg"),
        "import: global_pool '{}' is not supported for a model {} class token", pool,
        token ? "with a" : "without");
}

HubConfig timm_config(const json& root) {
  HubConfig config;
  const auto architecture = root["architecture"].get<std::string>();
  add_renamed(root, "", {{"num_classes", "classes"}}, config.settings);
  if (architecture.starts_with("vit_") || architecture.starts_with("deit"))
    add_timm_vit(root, config.settings);
  for (const auto& setting : swin_name_settings(architecture)) config.settings.push_back(setting);
  if (root.contains("pretrained_cfg"))
    config.preprocess = timm_config_preprocess(root["pretrained_cfg"]);
  if (architecture.starts_with("resnet") && config.preprocess)  // its shapes do not tell
    config.settings.push_back(
        {"image", std::to_string(config.preprocess->image), "pretrained_cfg.input_size"});
  if (root.contains("label_names")) config.classes = names_of(root["label_names"], "label_names");
  // Names are often numbers of WordNet, and descriptions the words.
  if (root.contains("label_descriptions"))
    for (auto& name : config.classes)
      name = plot::clean_text(root["label_descriptions"].value(name, name));
  return config;
}

Interpolation interpolation_of_pillow(const json& number) {
  constexpr std::pair<int, Interpolation> kFilters[] = {
      {0, Interpolation::Nearest}, {2, Interpolation::Bilinear}, {3, Interpolation::Bicubic}};
  for (const auto& [filter, interpolation] : kFilters)
    if (number == filter) return interpolation;
  fail("import: resample {} is not supported; it is 0 (nearest), 2 (bilinear) or 3 (bicubic)",
       number.dump());
}

/// A size as the library writes it: a number, or height and width, or the shortest edge.
int64_t side_of(const json& size, const std::string& entry) {
  if (size.is_number_integer()) return size.get<int64_t>();
  if (size.contains("shortest_edge")) return size["shortest_edge"].get<int64_t>();
  check(size.contains("height") && size.value("height", json()) == size.value("width", json()),
        "import: {} {} is not that of a square image", entry, size.dump());
  return size["height"].get<int64_t>();
}

/// ConvNextImageProcessor, which CvT has: a square out of the middle or, from 384 pixels on, the
/// whole image squeezed into the square.
Preprocess convnext_geometry(int64_t side, double crop) {
  constexpr int64_t kSqueezed = 384;
  check(crop > 0 && crop <= 1, "import: crop_pct {} is not a fraction", crop);
  if (side >= kSqueezed) return {.image = side, .resize = side, .stretch = true};
  return {.image = side, .resize = static_cast<int64_t>(static_cast<double>(side) / crop)};
}

/// Which part of the image is seen, with the defaults of ViTImageProcessor.
Preprocess processor_geometry(const json& root) {
  const auto size = root.value("size", json(224));
  const auto side = side_of(size, "size");
  if (root.contains("crop_pct") && root["crop_pct"].is_number())
    return convnext_geometry(side, root["crop_pct"].get<double>());
  const bool crops = root.value("do_center_crop", false);
  const bool stretches = !(size.is_object() && size.contains("shortest_edge"));
  check(crops || stretches,
        "import: size {} without do_center_crop gives images that are not square", size.dump());
  Preprocess how{.image = side, .resize = side};
  if (crops && root.contains("crop_size")) how.image = side_of(root["crop_size"], "crop_size");
  how.stretch = stretches && how.image == how.resize;
  check(!stretches || how.stretch,
        "import: a crop of {} out of an image squeezed to {} is not supported", how.image, side);
  return how;
}

Preprocess processor_config(const json& root) {
  auto how = processor_geometry(root);
  how.interpolation = interpolation_of_pillow(root.value("resample", json(2)));
  check(std::abs(root.value("rescale_factor", kPixelScale) - kPixelScale) < 1e-6,
        "import: rescale_factor {} is not supported, only 1/255",
        root.value("rescale_factor", kPixelScale));
  how.mean = root.value("image_mean", std::vector<double>{0.5, 0.5, 0.5});
  how.std = root.value("image_std", std::vector<double>{0.5, 0.5, 0.5});
  how.channels = std::ssize(how.mean);
  if (!root.value("do_normalize", true)) {
    how.mean.assign(how.mean.size(), 0);
    how.std.assign(how.mean.size(), 1);
  }
  how.validate();
  return how;
}

void add_hugging_face_vit(const json& root, HubConfig& config) {
  add_renamed(root, "",
              {{"hidden_size", "dim"},
               {"num_hidden_layers", "depth"},
               {"num_attention_heads", "heads"},
               {"intermediate_size", "hidden"},
               {"patch_size", "patch"},
               {"image_size", "image"},
               {"num_channels", "channels"},
               {"layer_norm_eps", "norm_eps"}},
              config.settings);
  check_fixed(root, "", {{"qkv_bias", true}});
  if (root.contains("hidden_act"))
    config.settings.push_back(
        {"activation", our_activation(root["hidden_act"], "hidden_act"), "hidden_act"});
  config.preprocess = processor_config({{"size", root.value("image_size", 224)}});
}

void add_hugging_face_pvt(const json& root, HubConfig& config) {
  add_renamed(root, "", {{"image_size", "image"}, {"num_channels", "channels"}}, config.settings);
  add_stages(root,
             {{"patch_sizes", "patches"},
              {"hidden_sizes", "dims"},
              {"depths", "depths"},
              {"num_attention_heads", "heads"},
              {"mlp_ratios", "mlp_ratios"},
              {"sequence_reduction_ratios", "sr_ratios"}},
             config.settings);
  check_fixed(root, "", {{"qkv_bias", true}, {"hidden_act", "gelu"}});
}

void add_hugging_face_cvt(const json& root, HubConfig& config) {
  add_renamed(root, "", {{"num_channels", "channels"}}, config.settings);
  add_stages(root,
             {{"patch_sizes", "kernels"},
              {"patch_stride", "strides"},
              {"patch_padding", "paddings"},
              {"embed_dim", "dims"},
              {"depth", "depths"},
              {"num_heads", "heads"},
              {"mlp_ratio", "mlp_ratios"},
              {"stride_kv", "kv_strides"}},
             config.settings);
  check_fixed(root, "",
              {{"qkv_bias", {true, true, true}},
               {"cls_token", {false, false, true}},
               {"qkv_projection_method", {"dw_bn", "dw_bn", "dw_bn"}},
               {"kernel_qkv", {3, 3, 3}},
               {"padding_kv", {1, 1, 1}},
               {"padding_q", {1, 1, 1}},
               {"stride_q", {1, 1, 1}}});
}

/// The shapes tell depths and heads.
void add_hugging_face_swin(const json& root, HubConfig& config) {
  add_renamed(root, "",
              {{"embed_dim", "dim"},
               {"window_size", "window"},
               {"patch_size", "patch"},
               {"image_size", "image"},
               {"num_channels", "channels"}},
              config.settings);
  check_fixed(root, "",
              {{"qkv_bias", true}, {"use_absolute_embeddings", false}, {"hidden_act", "gelu"}});
  const std::string pretrained = "pretrained_window_sizes";
  const auto windows = root.value(pretrained, std::vector<int64_t>{});
  if (!windows.empty() && windows[0] > 0)
    config.settings.push_back({"pretrained_windows", root[pretrained].dump(), pretrained});
}

void add_hugging_face_igpt(const json& root, HubConfig& config) {
  add_renamed(
      root, "",
      {{"n_embd", "dim"}, {"n_layer", "layers"}, {"n_head", "heads"}, {"n_inner", "hidden"}},
      config.settings);
  check_fixed(root, "",
              {{"activation_function", "quick_gelu"},
               {"layer_norm_epsilon", 1e-5},
               {"scale_attn_weights", true},
               {"scale_attn_by_inverse_layer_idx", false},
               {"add_cross_attention", false},
               {"tie_word_embeddings", false}});
}

HubConfig hugging_face_config(const json& root) {
  const std::map<std::string, void (*)(const json&, HubConfig&)> known = {
      {"vit", add_hugging_face_vit},      {"deit", add_hugging_face_vit},
      {"pvt", add_hugging_face_pvt},      {"cvt", add_hugging_face_cvt},
      {"swin", add_hugging_face_swin},    {"swinv2", add_hugging_face_swin},
      {"imagegpt", add_hugging_face_igpt}};
  const auto type = root.at("model_type").get<std::string>();
  const auto found = known.find(type);
  check(found != known.end(),
        "import: model_type '{}' is not supported, only vit, deit, pvt, cvt, swin, swinv2 and "
        "imagegpt",
        type);
  HubConfig config;
  found->second(root, config);
  if (root.contains("id2label")) config.classes = names_of(root["id2label"], "id2label");
  return config;
}

/// A JSON file of the folder; errors name it.
template <typename F>
auto with_file(const fs::path& path, F&& read) {
  try {
    const auto text = read_file(path);
    check(!is_nested_deeper(text), "import: it is nested deeper than {} levels", kJsonLevels);
    const auto root = json::parse(text);
    check(root.is_object(), "import: it is not a JSON object");
    return read(root);
  } catch (const json::exception& e) {
    fail("import: {} cannot be read: {}", path.string(), e.what());
  } catch (const Error& e) {
    fail("{} (in {})", e.what(), path.string());
  }
}

}  // namespace

std::vector<HubSetting> swin_name_settings(const std::string& name) {
  static const std::regex pattern(
      "swin.*window([0-9]{1,3})(?:to([0-9]{1,3}))?[-_]([0-9]{2,4})(?:to([0-9]{2,4}))?.*");
  constexpr int64_t kStages = 4, kPatch = 4;
  std::smatch match;
  if (!std::regex_match(name, match, pattern)) return {};
  const auto entry = [&](const char* what) { return fmt::format("the name {}, {}", name, what); };
  const bool tuned = match[2].matched && match[4].matched;
  std::vector<HubSetting> settings = {{"window", match[tuned ? 2 : 1], entry("window")},
                                      {"image", match[tuned ? 4 : 3], entry("image")}};
  if (!tuned) return settings;
  std::vector<int64_t> before;  // no window was larger than its grid
  for (int64_t s = 0; s < kStages; ++s)
    before.push_back(std::min(std::stoll(match[1]), (std::stoll(match[3]) / kPatch) >> s));
  settings.push_back({"pretrained_windows", fmt::format("[{}]", fmt::join(before, ", ")),
                      entry("pretrained windows")});
  return settings;
}

HubConfig read_hub_config(const fs::path& folder) {
  HubConfig config;
  const auto model = folder / "config.json", processor = folder / "preprocessor_config.json";
  if (fs::exists(model))
    config = with_file(model, [](const json& root) {
      if (root.contains("architecture")) return timm_config(root);
      return root.contains("model_type") ? hugging_face_config(root) : HubConfig{};
    });
  if (fs::exists(processor)) config.preprocess = with_file(processor, processor_config);
  return config;
}

}  // namespace vitrine
