#include "vitrine/weights/importers.h"

#include <torch/torch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/palette_batches.h"
#include "vitrine/formats/tfjs.h"
#include "vitrine/models/model.h"
#include "vitrine/models/no_random_init.h"
#include "vitrine/weights/class_names.h"
#include "vitrine/weights/hub_config.h"
#include "vitrine/weights/hub_folder.h"
#include "vitrine/weights/hub_palette.h"
#include "vitrine/weights/read_tensors.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

constexpr const char* kPreprocessKey = "preprocess.";

/// A published file or folder, recognised and read through its source's table.
struct Published {
  std::string source, origin;
  const Importer& importer;
  TensorFile file;
  MappedFile mapped;
  ModelDescription description;
  HubConfig config;  // of a folder
};

struct Recognised {
  std::string source;
  TensorFile file;
};

Recognised recognise(const TensorFile& file, const std::string& origin) {
  std::vector<std::string> known;
  for (const auto& [name, importer] : importers()) {
    auto prepared = importer.prepare ? importer.prepare(file) : file;
    if (recognises(importer.map, prepared)) return {name, std::move(prepared)};
    known.push_back(importer.map.source);
  }
  fail("import: the names in {} are of no known source; known are: {}", origin,
       fmt::join(known, "; "));
}

/// Takes what the folder's config says of the model; the shapes know better, so a config that
/// contradicts them is refused.
void honour(const HubConfig& config, const std::string& origin, ModelDescription& description) {
  auto known = std::map<std::string, std::string>();
  for (const auto& [key, size] : description.sizes) known[key] = std::to_string(size);
  const std::string image = "image=";
  for (const auto& setting : description.settings)
    if (setting.starts_with(image)) known["image"] = setting.substr(image.size());
  for (const auto& [key, value, entry] : config.settings) {
    const auto shapes = known.find(key);
    check(shapes == known.end() || shapes->second == value,
          "import: {}: config.json says {} {}, but the shapes of the weights say {}={}", origin,
          entry, value, key, shapes == known.end() ? "" : shapes->second);
    const bool headless = key == "classes" && !description.classifier;
    if (shapes == known.end() && !headless)
      description.settings.push_back(fmt::format("{}={}", key, value));
  }
  if (config.preprocess) description.preprocess = config.preprocess;
  const bool told = known.contains("image") ||
                    std::any_of(config.settings.begin(), config.settings.end(),
                                [](const HubSetting& setting) { return setting.key == "image"; });
  if (config.preprocess && !told)  // neither a table of positions nor config.json
    description.settings.push_back(fmt::format("image={}", config.preprocess->image));
}

Published read_published(const fs::path& path, TensorContent content) {
  const bool folder = fs::is_directory(path) && !is_tfjs(path);
  const auto origin = path.string();
  auto stored = folder ? read_hub_weights(path, content) : read_tensors(path, content);
  if (folder)
    if (const auto palette = read_hub_palette(path))
      stored.tensors.emplace_back(kPaletteTensor, palette_tensor(*palette));
  auto [source, file] = recognise(stored, origin);
  const auto& importer = importers().get(source);
  MappedFile mapped(importer.map, file, origin);
  auto description = importer.describe(mapped);
  HubConfig config;
  if (folder) {
    config = read_hub_config(path);
    honour(config, origin, description);
  }
  return {std::move(source),      origin,           importer, std::move(file), std::move(mapped),
          std::move(description), std::move(config)};
}

/// The name of the model that the user says it is, whose sizes must be those of the shapes.
std::string named_variant(const std::string& name, const ModelDescription& description,
                          const std::string& origin) {
  const auto numbers = whole_numbers(ModelChoice(name));
  for (const auto& [key, size] : description.sizes) {
    if (key == "classes" || key == "channels") continue;
    const auto found = numbers.find(key);
    check_usage(found != numbers.end() && found->second == size,
                "import: the weights of {} are for {}={}, but {} has {}; choose another --model or "
                "leave it out",
                origin, key, size, name,
                found == numbers.end() ? "no such setting" : std::to_string(found->second));
  }
  return name;
}

/// The model that the file describes, with what the user wants; what the shapes have decided cannot
/// be set otherwise.
ModelChoice choose_model(const Published& published, const ImportOptions& options) {
  const auto& description = published.description;
  const auto& origin = published.origin;
  const auto name =
      options.model.empty() ? description.model : named_variant(options.model, description, origin);
  auto yaml = fmt::format("name: {}\n", name);
  for (const auto& [key, size] : description.sizes) yaml += fmt::format("{}: {}\n", key, size);
  auto all = description.settings;
  if (!options.model.empty())  // the guesses give way to the model's own
    std::erase_if(all, [](const auto& setting) { return setting.starts_with("heads="); });
  if (!description.classifier) all.push_back("classes=1");
  for (const auto& setting : options.settings)
    if (!setting.starts_with(kPreprocessKey)) all.push_back(setting);
  const auto choice = read_model(yaml, all, origin);
  const auto numbers = whole_numbers(choice);
  for (const auto& [key, size] : description.sizes)
    check(numbers.at(key) == size,
          "import: {}={}, but the weights of {} are for {}={}; leave it out", key, numbers.at(key),
          origin, key, size);
  return choice;
}

/// How images of this size are prepared: as the source, the file or the folder does it, in
/// proportion, with what the user wants ("preprocess.resize=256").
Preprocess choose_preprocess(const Published& published, const ImageShape& shape,
                             const ImportOptions& options) {
  auto how = published.description.preprocess.value_or(Preprocess{});
  if (published.description.preprocess) {
    how.resize = how.resize * shape.image / how.image;
    how.image = shape.image;
  } else {
    how = published.importer.preprocess(shape);
  }
  auto settings = Settings::from_text(to_yaml(how), published.origin + " (preprocess)");
  for (const auto& setting : options.settings)
    if (setting.starts_with(kPreprocessKey))
      settings.override_with(setting.substr(std::string_view(kPreprocessKey).size()));
  settings.read_into(how);
  as_usage([&] { how.validate(); });
  return how;
}

std::vector<std::string> choose_classes(const Published& published, int64_t classes) {
  const auto& names = published.config.classes;
  if (!published.description.classifier)
    return classes == 1 ? std::vector<std::string>{"(no classifier in the file)"}
                        : assumed_class_names(classes);
  check(names.empty() || std::ssize(names) == classes,
        "import: {}: config.json names {} classes, but the weights are for {}", published.origin,
        names.size(), classes);
  return names.empty() ? assumed_class_names(classes) : names;
}

/// `model` is the described one, which needs no memory.
CheckpointInfo info_of(const Published& published, const ModelChoice& choice, const Model& model,
                       const ImportOptions& options) {
  CheckpointInfo info{.model = choice};
  if (!published.description.recipe.empty()) {
    auto recipe = YAML::Load(published.description.recipe);
    recipe["model"] = YAML::Load(to_yaml(choice));
    info.recipe = YAML::Dump(recipe);
  }
  if (const auto shape = model.image_shape(); shape && published.importer.preprocess != nullptr) {
    info.preprocess = choose_preprocess(published, *shape, options);
    info.classes = choose_classes(published, shape->classes);
  } else {
    info.preprocess = published.description.preprocess;
  }
  return info;
}

}  // namespace

const Registry<Importer>& importers() {
  static const auto registry = [] {
    Registry<Importer> r("source of weights");
    for (const auto& family :
         {hybrid_importers(), swin_importers(), vit_importers(), resnet_importers(),
          cct_importers(), pvt_importers(), cvt_importers(), t2t_vit_importers(), tnt_importers(),
          igpt_importers(), openai_sparse_importers()})
      for (const auto& [name, importer] : family) r.add(name, importer);
    return r;
  }();
  return registry;
}

Preprocess imagenet_preprocess(const ImageShape& shape, int64_t resize,
                               Interpolation interpolation) {
  const bool color = shape.channels == 3;
  const std::vector<double> half(static_cast<size_t>(shape.channels), 0.5);
  return {.image = shape.image,
          .resize = resize,
          .interpolation = interpolation,
          .channels = shape.channels,
          .mean = color ? std::vector{0.485, 0.456, 0.406} : half,
          .std = color ? std::vector{0.229, 0.224, 0.225} : half};
}

bool is_published(const fs::path& path) {
  if (is_tfjs(path)) return true;
  if (fs::is_directory(path)) return !fs::exists(path / "checkpoints") && holds_hub_weights(path);
  constexpr unsigned char kPickle = 0x80;
  unsigned char head[sizeof(uint64_t) + 1] = {};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(head), sizeof head);
  uint64_t length = 0;  // of the header of safetensors, which follows it
  std::memcpy(&length, head, sizeof length);
  if (head[sizeof length] == '{' && length < fs::file_size(path))
    return !is_own_metadata(read_safetensors_metadata(path));
  const bool zip = head[0] == 'P' && head[1] == 'K';  // an npz, or torch's own format
  return zip || head[0] == kPickle;
}

CheckpointInfo describe_weights(const fs::path& path, const ImportOptions& options) {
  const auto published = read_published(path, TensorContent::ShapesOnly);
  const auto choice = choose_model(published, options);
  return info_of(published, choice, *model_without_memory(choice, published.file, published.origin),
                 options);
}

ImportedModel import_weights(const fs::path& path, const ImportOptions& options) {
  const auto published = read_published(path, TensorContent::Values);
  const auto& mapped = published.mapped;
  ImportedModel result{.source = published.source,
                       .checkpoint = {},
                       .account = {},
                       .untold = published.importer.untold};
  auto& [model, info] = result.checkpoint;
  const auto choice = choose_model(published, options);
  const LoadPolicy policy{
      .skip = mapped.absent(), .positions = published.importer.positions, .memory = options.memory};
  const auto shapes = model_without_memory(choice, published.file, published.origin);
  info = info_of(published, choice, *shapes, options);
  const auto ours = mapped.converted(weight_shapes(*shapes));
  {
    const NoRandomInit loaded_below;
    model = choice.build();
  }
  if (!published.description.classifier) model->reset_head(model->image_shape()->classes);
  result.account =
      joined_accounts(mapped.account(), load_weights(*model, ours, published.origin, policy));
  for (auto& note : result.account.notes)
    if (note.status == LoadStatus::Missing) note.detail = "the file has none: zero";
  model->eval();
  if (published.config.preprocess) result.untold = "";
  return result;
}

}  // namespace vitrine
