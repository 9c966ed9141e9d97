#pragma once

#include <torch/types.h>

#include <functional>
#include <string>
#include <vector>

#include "vitrine/data/batch.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/report.h"

namespace vitrine {

class Model;

/// Sums over examples, and their means.
class Averages {
 public:
  void add(double mean_loss, const Sums& sums, int64_t examples);
  int64_t examples() const { return examples_; }
  double loss() const;
  /// The mean of a measured quantity; 0 if it was never measured.
  double mean(const std::string& name) const;
  /// Every measured quantity with its mean.
  Sums means() const;

  /// The raw sums, to store and restore a half-done epoch.
  std::vector<double> sums() const;
  static Averages restored(const std::vector<double>& sums, const std::vector<std::string>& names);
  std::vector<std::string> names() const;

 private:
  int64_t examples_ = 0;
  double loss_sum_ = 0;
  Sums sums_;
};

struct EvaluateOptions {
  int64_t batch = 256;
  int64_t workers = 1;
  torch::Device device = torch::kCPU;
  std::string label = "evaluate";  // of the progress bar
  std::function<void(const torch::Tensor& output, const torch::Tensor& targets)> on_batch = {};
};

/// Runs the model over all examples, without augmentation and without gradients.
Averages evaluate(Model& model, const BatchSource& source, const Objective& objective,
                  const EvaluateOptions& options);

/// The same for classes, counting every answer in `matrix`.
Averages evaluate_classes(Model& model, const BatchSource& source, EvaluateOptions options,
                          ConfusionMatrix& matrix);

}  // namespace vitrine
