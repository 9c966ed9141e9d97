#pragma once

#include "vitrine/train/objective.h"

namespace vitrine {

/// One class per example: logits (B, N), targets (B) int64 or (B, N) probabilities.
class Classification : public Objective {
 public:
  Classification(const Splits& data, const ObjectiveSettings& settings);

  LossAndOutput loss(Model& model, const Batch& batch) const override;
  LossAndOutput eval_loss(Model& model, const Batch& batch) const override;
  std::vector<Metric> metrics() const override;
  Metric selection_metric() const override { return accuracy_metric(); }
  Metrics batch_metrics(const torch::Tensor& output, const torch::Tensor& targets) const override;
  std::unique_ptr<Report> make_report() const override;

 protected:
  /// The mean cross-entropy of logits (B, N), with smoothed labels and weighted classes.
  torch::Tensor label_loss(const torch::Tensor& logits, const torch::Tensor& targets) const;

 private:
  bool counts_top() const;

  std::vector<std::string> classes_;
  double label_smoothing_;
  torch::Tensor class_weights_;  // (N), or undefined
};

}  // namespace vitrine
