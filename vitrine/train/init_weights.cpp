#include "vitrine/train/init_weights.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/data/palette_batches.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/train/init_preprocess.h"

namespace vitrine {
namespace {

/// Gives the model a head of zeros; returns the names of its weights.
std::vector<std::string> replace_head(Model& model, int64_t classes) {
  const auto before = named_weights(model);
  model.reset_head(classes);
  std::vector<std::string> names;
  for (const auto& [name, weight] : named_weights(model)) {
    const bool kept =
        std::any_of(before.begin(), before.end(),
                    [&, &weight = weight](const auto& old) { return old.second.is_same(weight); });
    if (!kept) names.push_back(name);
  }
  return names;
}

}  // namespace

InitWeights::InitWeights(std::string path) : path_(std::move(path)), info_(stored_info(path_)) {}

Recipe InitWeights::defaults() const {
  Recipe recipe;
  recipe.model = info_.model;
  if (const auto& theirs = info_.preprocess) adopt_preprocess(recipe, *theirs);
  return recipe;
}

void keep_palette(Recipe& recipe, Model& model) {
  auto* decoder = model.decoder();
  if (decoder == nullptr || !decoder->palette().defined()) return;
  recipe.data.palette.known = palette_of(decoder->palette()).colors();
}

void InitWeights::complete(Recipe& recipe) const {
  check_usage(recipe.model.name() == info_.model.name(),
              "recipe: model.name is '{}', but init {} holds a '{}'; leave model.name out",
              recipe.model.name(), path_, info_.model.name());
  if (info_.preprocess) complete_preprocess(recipe, *info_.preprocess, "init " + path_);
  if (recipe.data.palette.colors > 0) keep_palette(recipe, *load_checkpoint(path_).model);
}

void InitWeights::set_classes(Recipe& recipe, int64_t classes) const {
  const auto own = model_number(info_.model, "classes");
  if (own == classes || model_number(recipe.model, "classes") != own) return;
  recipe.model =
      read_model(to_yaml(recipe.model), {fmt::format("classes={}", classes)}, path_ + " (model)");
}

void InitWeights::fit(Recipe& recipe, const Recipe& stored) const {
  if (info_.preprocess) set_classes(recipe, model_number(stored.model, "classes"));
}

void InitWeights::fit(Recipe& recipe, const Splits& data) {
  if (!info_.preprocess) {
    check(data.classes == info_.classes,
          "train: the tokens of data set '{}' are not those that init {} was trained with; train "
          "from random weights",
          recipe.data.dataset.name(), path_);
    return;
  }
  set_classes(recipe, std::ssize(data.classes));
  if (data.classes != info_.classes) new_head_ = std::ssize(data.classes);
}

std::string InitWeights::load_into(Model& model) const {
  const auto theirs = load_checkpoint(path_).model;
  std::vector<std::string> new_head;
  if (new_head_ > 0) new_head = replace_head(*theirs, new_head_);
  TensorFile file;
  file.tensors = named_weights(*theirs);
  const auto account =
      load_weights(model, file, path_, {.positions = PositionResize::BicubicAntialias});
  auto text = fmt::format("init {} ({}): {} loaded", path_, info_.model.name(),
                          counted(std::ssize(file.tensors) - std::ssize(new_head), "tensor"));
  for (const auto& note : account.notes)
    if (note.status == LoadStatus::Resized)
      text += fmt::format("; {} resized, {}", note.ours, note.detail);
  if (!new_head.empty()) text += fmt::format("; new head of zeros ({})", fmt::join(new_head, ", "));
  return text;
}

std::vector<std::string> InitWeights::notes(const Recipe& recipe) const {
  const auto& theirs = info_.preprocess;
  return theirs ? preprocess_notes(recipe, *theirs) : std::vector<std::string>();
}

}  // namespace vitrine
