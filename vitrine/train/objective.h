#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/task.h"

namespace vitrine {

/// Named sums over what a batch holds ("accuracy": how many were right), or their means.
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
  /// How many things the mean losses and the sums are over: examples, unless told otherwise.
  virtual int64_t counted(const torch::Tensor& targets) const { return targets.size(0); }
  /// What follows from the mean loss over a part of the data.
  virtual Sums derived(double /*mean_loss*/) const { return {}; }
  /// The metric that decides which checkpoint is best, and whether more of it is better.
  virtual std::string watched() const = 0;
  virtual bool higher_is_better() const = 0;
};

/// Cross-entropy; unless told otherwise, the share of right answers ("accuracy") is watched.
class CrossEntropy : public Objective {
 public:
  explicit CrossEntropy(double label_smoothing) : label_smoothing_(label_smoothing) {}
  torch::Tensor loss(const torch::Tensor& output, const torch::Tensor& targets) const override {
    return cross_entropy(output, targets, label_smoothing_);
  }
  torch::Tensor plain_loss(const torch::Tensor& output,
                           const torch::Tensor& targets) const override {
    return cross_entropy(output, targets, /*smoothing=*/0);
  }
  std::string watched() const override { return "accuracy"; }
  bool higher_is_better() const override { return true; }

 protected:
  /// The mean over the batch; `smoothing` is the share of the target spread over all choices.
  virtual torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                                      double smoothing) const = 0;

 private:
  double label_smoothing_;
};

/// One class per example: output (B, N), targets (B) int64 or (B, N) shares.
class Classification : public CrossEntropy {
 public:
  using CrossEntropy::CrossEntropy;
  Sums measure(const torch::Tensor& output, const torch::Tensor& targets) const override;

 protected:
  torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                              double smoothing) const override;
};

/// The digits of a sum, each with its own cross-entropy; a sum is right if all its digits are.
class DigitSum : public CrossEntropy {
 public:
  using CrossEntropy::CrossEntropy;
  Sums measure(const torch::Tensor& output, const torch::Tensor& targets) const override;

 protected:
  torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                              double smoothing) const override;
};

/// The next number of a sequence: mean squared error, also measured as "mse". Output and targets
/// (B).
class NextValue : public Objective {
 public:
  torch::Tensor loss(const torch::Tensor& output, const torch::Tensor& targets) const override;
  torch::Tensor plain_loss(const torch::Tensor& output,
                           const torch::Tensor& targets) const override {
    return loss(output, targets);
  }
  Sums measure(const torch::Tensor& output, const torch::Tensor& targets) const override;
  std::string watched() const override { return "mse"; }
  bool higher_is_better() const override { return false; }
};

/// The word after each word: mean cross-entropy per counted word, and exp of it as "perplexity".
/// Output (B, T, N), targets (B, T) int64, some of them kNotCounted.
class NextToken : public CrossEntropy {
 public:
  using CrossEntropy::CrossEntropy;
  Sums measure(const torch::Tensor&, const torch::Tensor&) const override { return {}; }
  int64_t counted(const torch::Tensor& targets) const override;
  Sums derived(double mean_loss) const override;
  std::string watched() const override { return "loss"; }
  bool higher_is_better() const override { return false; }

 protected:
  torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                              double smoothing) const override;
};

/// Each byte of a sequence by those before it: mean cross-entropy per byte, and the same in bits as
/// "bits_per_dim". Output (B, T, 256), targets (B, T) int64.
class NextByte : public NextToken {
 public:
  using NextToken::NextToken;
  Sums derived(double mean_loss) const override;
  std::string watched() const override { return "bits_per_dim"; }
};

/// Throws if labels cannot be smoothed in this task.
std::unique_ptr<Objective> make_objective(Task task, double label_smoothing);

/// Random targets for a batch of `output`, for benchmarks.
torch::Tensor random_targets(Task task, const torch::Tensor& output);

}  // namespace vitrine
