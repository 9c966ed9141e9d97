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

/// Sums over what an objective counts (`Objective::counted`), and their means.
class Averages {
 public:
  void add(double mean_loss, const Sums& sums, int64_t counted);
  int64_t counted() const { return counted_; }
  double loss() const;
  /// The mean of a measured quantity or of the "loss"; 0 if it was never measured.
  double mean(const std::string& name) const;
  /// Every measured quantity with its mean.
  Sums means() const;

  /// The raw sums, to store and restore a half-done epoch.
  std::vector<double> sums() const;
  static Averages restored(const std::vector<double>& sums, const std::vector<std::string>& names);
  std::vector<std::string> names() const;

 private:
  int64_t counted_ = 0;
  double loss_sum_ = 0;
  Sums sums_;
};

/// All that is known of a part of the data: the loss, what was measured, what follows from both.
Sums scores_of(const Averages& averages, const Objective& objective);

/// The score that decides which checkpoint is best.
double watched_score(const Averages& averages, const Objective& objective);

/// A score for people: "98.25 %" for an accuracy, "0.0313" for others.
std::string score_text(const std::string& name, double score);
/// "accuracy 98.25 % (loss 0.0631)": the watched score before the others.
std::string scores_text(const Sums& scores, const std::string& watched);

struct EvaluateOptions {
  int64_t batch = 256;
  int64_t workers = 1;
  torch::Device device = torch::kCPU;
  std::string label = "evaluate";  // of the progress bar
  /// Stops after about this time; the examples come in random order then, so that the scores of
  /// some are an estimate for all. 0 = all of them.
  double most_seconds = 0;
  std::function<void(const torch::Tensor& output, const torch::Tensor& targets)> on_batch = {};
};

/// Runs the model over the examples, without augmentation and without gradients.
Averages evaluate(Model& model, const BatchSource& source, const Objective& objective,
                  const EvaluateOptions& options);

/// The same for classes, counting every answer in `matrix`.
Averages evaluate_classes(Model& model, const BatchSource& source, EvaluateOptions options,
                          ConfusionMatrix& matrix);

}  // namespace vitrine
