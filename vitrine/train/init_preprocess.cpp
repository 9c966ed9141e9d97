#include "vitrine/train/init_preprocess.h"

#include "vitrine/core/error.h"
#include "vitrine/weights/weight_shapes.h"

namespace vitrine {
namespace {

std::string list_text(const std::vector<double>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

int64_t model_number(const ModelChoice& model, const std::string& key) {
  const auto numbers = whole_numbers(model);
  const auto found = numbers.find(key);
  return found == numbers.end() ? 0 : found->second;
}

void adopt_preprocess(Recipe& recipe, const Preprocess& theirs) {
  recipe.data.preprocess.interpolation = theirs.interpolation;
  recipe.data.preprocess.mean = theirs.mean;
  recipe.data.preprocess.std = theirs.std;
}

void complete_preprocess(Recipe& recipe, const Preprocess& theirs, const std::string& origin) {
  const auto traits = recipe.data.dataset->images();
  check_usage(traits.has_value(),
              "recipe: {} classifies images, and data set '{}' has none; choose another", origin,
              recipe.data.dataset.name());
  check_usage(traits->channels == theirs.channels,
              "recipe: {} takes images of {}, and data set '{}' has {}; choose other data or "
              "other weights",
              origin, counted(theirs.channels, "channel"), recipe.data.dataset.name(),
              counted(traits->channels, "channel"));
  auto& side = recipe.data.preprocess.image;
  if (side == 0) side = model_number(recipe.model, "image");
}

std::vector<std::string> preprocess_notes(const Recipe& recipe, const Preprocess& theirs) {
  const auto& ours = recipe.data.preprocess;
  std::vector<std::string> notes;
  const auto compare = [&](const char* key, const auto& our, const auto& their) {
    if (our != their)
      notes.push_back(fmt::format("note: data.preprocess.{} is {}, that of the weights {}", key,
                                  list_text(our), list_text(their)));
  };
  compare("mean", ours.mean, theirs.mean);
  compare("std", ours.std, theirs.std);
  if (ours.interpolation != theirs.interpolation)
    notes.push_back("note: data.preprocess.interpolation is not that of the weights");
  return notes;
}

}  // namespace vitrine
