#include "vitrine/serve/engine/served_model.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/infer/precision.h"
#include "vitrine/inspect/cards/families.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/serve/engine/served_adder.h"
#include "vitrine/serve/engine/served_classifier.h"
#include "vitrine/serve/engine/served_generator.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::serve {
namespace {

std::string family_of(const std::string& model) {
  for (const auto& family : model_families())
    if (family.has(model)) return family.name;
  return model;
}

}  // namespace

std::vector<float> ServedModel::forward(std::span<const float>, int64_t) const {
  fail("{} {}; it takes no tensors", card().name, purpose());
}

std::unique_ptr<const ServedModel> load_served_model(const std::string& name, const fs::path& path,
                                                     Precision precision) {
  auto loaded = load_checkpoint(path, FileMemory::Borrow);
  const auto model = loaded.info.model.name();
  prepare_for_inference(*loaded.model, precision, fmt::format("{} ({})", name, model));
  ModelCard card{.name = name,
                 .model = model,
                 .family = family_of(model),
                 .parameters = parameter_count(*loaded.model)};
  switch (loaded.model->task()) {
    case Task::Classes:
      check(loaded.model->image_shape().has_value(), "serve: {} ({}) does not classify images",
            path.string(), model);
      return std::make_unique<ServedClassifier>(std::move(card), std::move(loaded));
    case Task::NextToken:
      return std::make_unique<ServedGenerator>(std::move(card), loaded);
    case Task::DigitSum:
      return std::make_unique<ServedAdder>(std::move(card), loaded);
    case Task::NextValue:
      break;
  }
  fail(
      "serve: {} ({}) predicts the next value of a wave, which no route serves; serve an image "
      "classifier, a generator of images or text, or an addition network",
      path.string(), model);
}

}  // namespace vitrine::serve
