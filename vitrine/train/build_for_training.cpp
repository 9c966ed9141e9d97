#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/trainer.h"

namespace vitrine {

std::shared_ptr<Model> build_for_training(const Recipe& recipe, const Splits& data) {
  torch::manual_seed(static_cast<uint64_t>(recipe.seed));
  auto model = recipe.model.build();
  check(!recipe.train.recompute || model->named_children().contains("blocks"),
        "train: {} has no blocks to compute again; set train.recompute=false", recipe.model.name());
  const auto& task = task_entry(data.task);
  check(model->task() == data.task, "train: {} does not answer what data set '{}' asks; choose {}",
        recipe.model.name(), recipe.data.dataset, task.models);
  make_objective(data, recipe.train.label_smoothing);  // throws if it smooths what it cannot
  task.check_fit(*model, data);
  return model;
}

}  // namespace vitrine
