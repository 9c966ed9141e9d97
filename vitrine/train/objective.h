#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/task.h"

namespace vitrine {

/// Named sums over the examples of a batch ("accuracy": how many were right).
using Sums = std::vector<std::pair<std::string, double>>;

/// What is learned: the loss of a batch and what is measured about it. A new task is a new
/// objective; the trainer does not change.
class Objective {
 public:
  virtual ~Objective() = default;
  /// The mean loss over the batch, to be minimised.
  virtual torch::Tensor loss(const torch::Tensor& output, const torch::Tensor& targets) const = 0;
  /// The mean loss without regularisation, for evaluation.
  virtual torch::Tensor plain_loss(const torch::Tensor& output,
                                   const torch::Tensor& targets) const = 0;
  virtual Sums measure(const torch::Tensor& output, const torch::Tensor& targets) const = 0;
  /// The metric that decides which checkpoint is best, and whether more of it is better.
  virtual std::string watched() const = 0;
  virtual bool higher_is_better() const = 0;
};

/// Cross-entropy over classes: output (B, N), targets (B) int64 or (B, N) shares.
class Classification : public Objective {
 public:
  explicit Classification(double label_smoothing) : label_smoothing_(label_smoothing) {}
  torch::Tensor loss(const torch::Tensor& output, const torch::Tensor& targets) const override;
  torch::Tensor plain_loss(const torch::Tensor& output,
                           const torch::Tensor& targets) const override;
  Sums measure(const torch::Tensor& output, const torch::Tensor& targets) const override;
  std::string watched() const override { return "accuracy"; }
  bool higher_is_better() const override { return true; }

 private:
  double label_smoothing_;
};

/// Cross-entropy over each digit of a sum; "accuracy" counts sums whose digits are all right.
class DigitSum : public Objective {
 public:
  explicit DigitSum(double label_smoothing) : label_smoothing_(label_smoothing) {}
  torch::Tensor loss(const torch::Tensor& output, const torch::Tensor& targets) const override;
  torch::Tensor plain_loss(const torch::Tensor& output,
                           const torch::Tensor& targets) const override;
  Sums measure(const torch::Tensor& output, const torch::Tensor& targets) const override;
  std::string watched() const override { return "accuracy"; }
  bool higher_is_better() const override { return true; }

 private:
  double label_smoothing_;
};

std::unique_ptr<Objective> make_objective(Task task, double label_smoothing);

/// Random targets for a batch of `output`, for benchmarks.
torch::Tensor random_targets(Task task, const torch::Tensor& output);

}  // namespace vitrine
