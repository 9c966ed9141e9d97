#include "vitrine/train/objectives/distillation.h"

#include <torch/torch.h>

#include "vitrine/models/model.h"
#include "vitrine/train/teacher.h"

namespace vitrine {

Distillation::Distillation(const Splits& data, const ObjectiveSettings& settings)
    : Classification(data, settings), teacher_(settings.teacher), config_(settings.distillation) {}

LossAndOutput Distillation::loss(Model& model, const Batch& batch) const {
  const auto heads = model.logits_by_head(model.features(batch.inputs));  // (B, N) each
  const auto teacher = batch.teacher.defined() ? batch.teacher : teacher_->logits(batch.inputs);
  const double a = config_.teacher_fraction();
  auto loss = (1 - a) * label_loss(heads.front(), batch.targets) +
              a * teacher_loss(heads.back().to(torch::kFloat), teacher.to(torch::kFloat));
  return {std::move(loss), torch::stack(heads).mean(0)};
}

std::string Distillation::checksum() const { return teacher_->checksum(); }

torch::Tensor Distillation::teacher_loss(const torch::Tensor& student,
                                         const torch::Tensor& teacher) const {
  if (config_.kind == DistillationKind::Hard)
    return cross_entropy(student, teacher.argmax(1), /*smoothing=*/0);
  namespace F = torch::nn::functional;
  const double T = config_.temperature;
  return T * T *
         F::kl_div((student / T).log_softmax(1), (teacher / T).log_softmax(1),
                   F::KLDivFuncOptions().reduction(torch::kBatchMean).log_target(true));
}

}  // namespace vitrine
