#pragma once

#include "vitrine/train/objectives/classification.h"

namespace vitrine {

/// Labels and the logits of a teacher, as in DeiT (Touvron et al. 2021). The first head of the
/// student learns the labels and its last head the teacher; if there is one head, it learns both.
/// With a the fraction of the teacher, y the label, s and t the logits of student and teacher:
///   hard: (1 - a) CE(s, y) + a CE(s, argmax t)
///   soft: (1 - a) CE(s, y) + a T^2 KL(softmax(t / T) || softmax(s / T)), the mean over the batch
/// Labels may be smoothed or mixed and classes weighted; none of that touches the teacher's term.
class Distillation : public Classification {
 public:
  /// `settings.teacher` must not be null.
  Distillation(const Splits& data, const ObjectiveSettings& settings);

  LossAndOutput loss(Model& model, const Batch& batch) const override;
  std::string checksum() const override;

 private:
  torch::Tensor teacher_loss(const torch::Tensor& student, const torch::Tensor& teacher) const;

  std::shared_ptr<const Teacher> teacher_;
  DistillationConfig config_;
};

}  // namespace vitrine
