#include "vitrine/weights/importers.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/read_tensors.h"
#include "vitrine/weights/sources.h"

namespace vitrine {
namespace {

const std::string& source_of(const TensorFile& file, const fs::path& path) {
  std::vector<std::string> known;
  for (const auto& [name, importer] : importers()) {
    if (recognises(importer.map, file)) return name;
    known.push_back(importer.map.source);
  }
  fail("import: the names in {} are of no known source; known are: {}", path.string(),
       fmt::join(known, "; "));
}

/// The model that the file describes, with what the user wants; what the shapes have decided cannot
/// be set otherwise.
ModelChoice choose_model(const ModelDescription& description,
                         const std::vector<std::string>& settings, const std::string& origin) {
  auto yaml = fmt::format("name: {}\n", description.model);
  for (const auto& [key, size] : description.sizes) yaml += fmt::format("{}: {}\n", key, size);
  auto all = description.settings;
  all.insert(all.end(), settings.begin(), settings.end());
  const auto choice = read_model(yaml, all, origin);
  const auto numbers = whole_numbers(choice);
  for (const auto& [key, size] : description.sizes)
    check(numbers.at(key) == size,
          "import: {}={}, but the weights of {} are for {}={}; leave it out", key, numbers.at(key),
          origin, key, size);
  return choice;
}

std::vector<std::string> numbered_classes(int64_t classes) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < classes; ++i) names.push_back(fmt::format("class {}", i));
  return names;
}

}  // namespace

const Registry<Importer>& importers() {
  static const auto registry = [] {
    Registry<Importer> r("source of weights");
    for (const auto& family : {vit_importers(), resnet_importers(), openai_sparse_importers()})
      for (const auto& [name, importer] : family) r.add(name, importer);
    return r;
  }();
  return registry;
}

ImportedModel import_weights(const fs::path& path, const std::vector<std::string>& settings) {
  const auto file = read_tensors(path);
  const auto origin = path.string();
  ImportedModel result{
      .source = source_of(file, path), .checkpoint = {}, .recipe = {}, .account = {}};
  const auto& importer = importers().get(result.source);
  const MappedFile mapped(importer.map, file, origin);
  const auto description = importer.describe(mapped);
  auto& [model, info] = result.checkpoint;
  info.model = choose_model(description, settings, origin);
  const LoadPolicy policy{.positions = importer.positions, .give_back = true};
  const auto shapes = weight_shapes(*model_without_memory(info.model, file, origin));
  const auto ours = mapped.converted(shapes);
  model = info.model.build();
  result.account = joined(mapped.account(), load_weights(*model, ours, origin, policy));
  model->eval();
  if (const auto shape = model->image_shape(); shape && importer.preprocess != nullptr) {
    info.preprocess = importer.preprocess(*shape);
    info.classes = numbered_classes(shape->classes);
  }
  result.recipe = description.recipe;
  return result;
}

}  // namespace vitrine
