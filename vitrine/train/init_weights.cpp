#include "vitrine/train/init_weights.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/data/batch.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/weight_shapes.h"

namespace vitrine {
namespace {

/// A whole number among a model's settings; 0 if it has none of that name.
int64_t model_number(const ModelChoice& model, const std::string& key) {
  const auto numbers = whole_numbers(model);
  const auto found = numbers.find(key);
  return found == numbers.end() ? 0 : found->second;
}

std::string list_text(const std::vector<double>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

InitWeights::InitWeights(std::string path)
    : path_(std::move(path)), loaded_(load_checkpoint(path_)) {}

Recipe InitWeights::defaults() const {
  Recipe recipe;
  recipe.model = loaded_.info.model;
  if (const auto& theirs = loaded_.info.preprocess) {
    recipe.data.preprocess.interpolation = theirs->interpolation;
    recipe.data.preprocess.mean = theirs->mean;
    recipe.data.preprocess.std = theirs->std;
  }
  return recipe;
}

void InitWeights::complete(Recipe& recipe) const {
  const auto& info = loaded_.info;
  check_usage(recipe.model.name() == info.model.name(),
              "recipe: model.name is '{}', but init {} holds a '{}'; leave model.name out",
              recipe.model.name(), path_, info.model.name());
  if (!info.preprocess) return;
  const auto traits = recipe.data.dataset->images();
  check_usage(traits.has_value(),
              "recipe: init {} classifies images, and data set '{}' has none; choose another",
              path_, recipe.data.dataset.name());
  check_usage(traits->channels == info.preprocess->channels,
              "recipe: init {} takes images of {}, and data set '{}' has {}; choose other data or "
              "other weights",
              path_, counted(info.preprocess->channels, "channel"), recipe.data.dataset.name(),
              counted(traits->channels, "channel"));
  auto& side = recipe.data.preprocess.image;
  if (side == 0) side = model_number(recipe.model, "image");
}

void InitWeights::set_classes(Recipe& recipe, int64_t classes) const {
  const auto own = model_number(loaded_.info.model, "classes");
  if (own == classes || model_number(recipe.model, "classes") != own) return;
  recipe.model =
      read_model(to_yaml(recipe.model), {fmt::format("classes={}", classes)}, path_ + " (model)");
}

void InitWeights::fit(Recipe& recipe, const Recipe& stored) const {
  if (loaded_.info.preprocess) set_classes(recipe, model_number(stored.model, "classes"));
}

void InitWeights::fit(Recipe& recipe, const Splits& data) {
  auto& [model, info] = loaded_;
  if (!info.preprocess) {
    check(data.classes == info.classes,
          "train: the tokens of data set '{}' are not those that init {} was trained with; train "
          "from random weights",
          recipe.data.dataset.name(), path_);
    return;
  }
  set_classes(recipe, std::ssize(data.classes));
  if (data.classes == info.classes) return;
  const auto before = named_weights(*model);
  model->reset_head(std::ssize(data.classes));
  for (const auto& [name, weight] : named_weights(*model)) {
    const bool kept = std::any_of(before.begin(), before.end(),
                                  [&](const auto& old) { return old.second.is_same(weight); });
    if (!kept) new_head_.push_back(name);
  }
}

std::string InitWeights::load_into(Model& model) const {
  TensorFile file;
  file.tensors = named_weights(*loaded_.model);
  const auto account =
      load_weights(model, file, path_, {.positions = PositionResize::BicubicAntialias});
  auto text = fmt::format("init {} ({}): {} loaded", path_, loaded_.info.model.name(),
                          counted(std::ssize(file.tensors) - std::ssize(new_head_), "tensor"));
  for (const auto& note : account.notes)
    if (note.status == LoadStatus::Resized)
      text += fmt::format("; {} resized, {}", note.ours, note.detail);
  if (!new_head_.empty())
    text += fmt::format("; new head of zeros ({})", fmt::join(new_head_, ", "));
  return text;
}

std::vector<std::string> InitWeights::notes(const Recipe& recipe) const {
  const auto& theirs = loaded_.info.preprocess;
  if (!theirs) return {};
  const auto& ours = recipe.data.preprocess;
  std::vector<std::string> notes;
  const auto compare = [&](const char* key, const auto& our, const auto& their) {
    if (our != their)
      notes.push_back(fmt::format("note: data.preprocess.{} is {}, that of the weights {}", key,
                                  list_text(our), list_text(their)));
  };
  compare("mean", ours.mean, theirs->mean);
  compare("std", ours.std, theirs->std);
  if (ours.interpolation != theirs->interpolation)
    notes.push_back("note: data.preprocess.interpolation is not that of the weights");
  return notes;
}

}  // namespace vitrine
