#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/data/palette_batches.h"
#include "vitrine/inspect/model_memory.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/train/freeze.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/trainer.h"

namespace vitrine {
namespace {

/// The model keeps the colours that its tokens stand for, so that its checkpoints can paint.
void set_palette(Model& model, const Palette& palette) {
  const torch::NoGradGuard no_grad;
  model.decoder()->palette().copy_(palette_tensor(palette));
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
  const auto decay = recipe.train.optimizer.layer_decay;
  check(decay == 1 || !model->blocks_in_order().empty(),
        "train: layer_decay {} is for models with blocks, and {} has none; set "
        "train.optimizer.layer_decay=1",
        decay, recipe.model.name());
  const auto& task = task_entry(data.task);
  check(model->task() == data.task, "train: {} does not fit the task of data set '{}'; choose {}",
        recipe.model.name(), recipe.data.dataset.name(), task.models);
  make_objective(data, ObjectiveSettings(recipe.train));  // throws if the data do not allow it
  task.check_fit(*model, data);
  if (data.palette) set_palette(*model, *data.palette);
  freeze(*model, recipe.train.freeze);
  return model;
}

}  // namespace vitrine
