#include "vitrine/train/objective.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"

namespace vitrine {

LossAndOutput OutputObjective::with_smoothing(Model& model, const Batch& batch,
                                              double smoothing) const {
  auto output = model.forward(batch.inputs);
  auto loss = output_loss(output, batch.targets, smoothing);
  return {std::move(loss), std::move(output)};
}

LossAndOutput OutputObjective::loss(Model& model, const Batch& batch) const {
  return with_smoothing(model, batch, label_smoothing_);
}

LossAndOutput OutputObjective::eval_loss(Model& model, const Batch& batch) const {
  return with_smoothing(model, batch, /*smoothing=*/0);
}

Metric loss_metric() { return {.name = kLossName}; }

Metric accuracy_metric() { return {.name = "accuracy", .unit = "%", .higher_is_better = true}; }

torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets,
                            double smoothing, const torch::Tensor& class_weights) {
  namespace F = torch::nn::functional;
  const auto options = F::CrossEntropyFuncOptions()
                           .weight(class_weights)
                           .ignore_index(kIgnoreIndex)
                           .label_smoothing(smoothing);
  return F::cross_entropy(logits.to(torch::kFloat), targets, options);
}

std::unique_ptr<Objective> make_objective(const Splits& data, const ObjectiveSettings& settings) {
  const auto& entry = task_entry(data.task);
  check(settings.class_weights == ClassWeights::None || entry.has_classes,
        "train: these data have no classes to weight; set train.class_weights=none");
  check(settings.teacher == nullptr || entry.has_classes,
        "train: a teacher names classes, and these data have none; leave out train.teacher");
  return entry.objective(data, settings);
}

torch::Tensor random_targets(Task task, const torch::Tensor& output) {
  return task_entry(task).random_targets(output);
}

torch::Tensor try_example(Model& model, const Splits& data) {
  const torch::NoGradGuard no_grad;
  return model.forward(data.train->load({0}, /*epoch=*/-1).inputs);
}

}  // namespace vitrine
