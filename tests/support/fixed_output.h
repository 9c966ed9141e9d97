#pragma once

#include "vitrine/models/model.h"
#include "vitrine/train/objective.h"

namespace vitrine::test {

/// A model that answers every input with the same output.
class FixedOutput : public Model {
 public:
  explicit FixedOutput(torch::Tensor output) : output_(std::move(output)) {}
  torch::Tensor features(const torch::Tensor&) override { return output_; }
  torch::Tensor logits(const torch::Tensor& features) override { return features; }
  torch::Tensor example_input(int64_t batch) const override { return torch::zeros({batch}); }

 private:
  torch::Tensor output_;
};

/// The loss of an output, for training and for evaluation.
inline double loss_of(const Objective& objective, const torch::Tensor& output,
                      const torch::Tensor& targets) {
  FixedOutput model(output);
  return objective.loss(model, {output, targets}).loss.item<double>();
}
inline double eval_loss_of(const Objective& objective, const torch::Tensor& output,
                           const torch::Tensor& targets) {
  FixedOutput model(output);
  return objective.eval_loss(model, {output, targets}).loss.item<double>();
}

}  // namespace vitrine::test
