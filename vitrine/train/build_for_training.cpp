#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/inspect/model_memory.h"
#include "vitrine/models/model.h"
#include "vitrine/train/trainer.h"

namespace vitrine {
namespace {

/// What to choose instead of a model that does another task.
const char* models_for(Task task) {
  switch (task) {
    case Task::Classes:
      return "a model that takes pictures";
    case Task::DigitSum:
      return "a model whose name begins with addition_";
    case Task::NextValue:
      return "a model whose name begins with wave_";
    case Task::NextToken:
      return "word_transformer";
    case Task::NextByte:
      return "a model whose name begins with sparse_";
  }
  fail("train: task {} is not known", static_cast<int>(task));
}

/// Throws if the data's pictures and classes are not those of the model.
void check_pictures(const ImageShape& shape, const Splits& data) {
  const auto classes = static_cast<int64_t>(data.classes.size());
  check(shape.classes == classes,
        "train: the model tells {} classes apart, the data has {}; set model.classes={}",
        shape.classes, classes, classes);
  const auto example = data.train->load({0}, /*epoch=*/-1).inputs;
  check(example.size(1) == shape.channels && example.size(2) == shape.image &&
            example.size(3) == shape.image,
        "train: the model takes {} channels of {} x {} pixels, the data gives {} of {} x {}; set "
        "model.image={} and model.channels={}, or data.preprocess.image={}",
        shape.channels, shape.image, shape.image, example.size(1), example.size(2), example.size(3),
        example.size(2), example.size(1), shape.image);
}

/// Throws if the data's sequences and words are not those of the model.
void check_sequences(Model& model, const Splits& data) {
  const torch::NoGradGuard no_grad;
  if (data.task == Task::NextToken) {
    const auto known = model.forward(model.example_input(1)).size(-1);
    const auto words = static_cast<int64_t>(data.classes.size());
    check(known == words,
          "train: the model knows {} words, the data has {}; set model.vocabulary={}", known, words,
          words);
  }
  model.forward(data.train->load({0}, /*epoch=*/-1).inputs);  // throws if it is too long
}

}  // namespace

std::shared_ptr<Model> build_for_training(const Recipe& recipe, const Splits& data) {
  check(recipe.data.batch <= data.train->size(),
        "train: data.batch {} is more than the {} examples to train on; set data.batch={} at most",
        recipe.data.batch, data.train->size(), data.train->size());
  check_model_fits(recipe.model, /*copies=*/2);  // gradients, too
  torch::manual_seed(static_cast<uint64_t>(recipe.seed));
  auto model = recipe.model.build();
  check(!recipe.train.recompute || !model->blocks_in_order().empty(),
        "train: {} has no blocks to compute again; set train.recompute=false", recipe.model.name());
  check(model->task() == data.task, "train: {} does not answer what data set '{}' asks; choose {}",
        recipe.model.name(), recipe.data.dataset.name(), models_for(data.task));
  make_objective(data.task, recipe.train.label_smoothing);  // throws if it smooths what it cannot
  if (const auto shape = model->image_shape())
    check_pictures(*shape, data);
  else
    check_sequences(*model, data);
  return model;
}

}  // namespace vitrine
