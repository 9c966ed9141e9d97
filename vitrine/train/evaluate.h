#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "vitrine/data/batch.h"
#include "vitrine/train/objective.h"

namespace vitrine {

class WorkerGroup;

/// Sums over what an objective counts (`Objective::target_count`), and their means.
class MetricAccumulator {
 public:
  void add(double mean_loss, const Metrics& sums, int64_t targets);
  int64_t target_count() const { return target_count_; }
  double loss() const;
  /// The loss, the means of the sums, and what follows from the loss.
  Metrics metrics(const Objective& objective) const;

  /// The raw sums, to store and restore a half-done epoch.
  std::vector<double> sums() const;
  static MetricAccumulator restored(const std::vector<double>& sums,
                                    const std::vector<std::string>& names);
  std::vector<std::string> names() const;

 private:
  int64_t target_count_ = 0;
  double loss_sum_ = 0;
  Metrics sums_;
};

struct EvaluateOptions {
  int64_t batch = 256;
  int64_t workers = 1;
  torch::Device device = torch::kCPU;
  std::string label = "evaluate";  // of the progress bar
  /// Stops after about this time; the examples come in random order then, so that the metrics of
  /// some are an estimate for all. 0 = all of them.
  double max_seconds = 0;
  /// Stops after this many examples, in random order as well. 0 = all of them.
  int64_t max_examples = 0;
  bool stop_on_interrupt = false;  // Ctrl-C ends it early; see `catch_interrupts`
  std::vector<Report*> reports{};  // each takes note of every batch, in order
  /// Shares the batches among its ranks, which all get the metrics; null: alone. Not with reports.
  const WorkerGroup* group = nullptr;
};

/// What a model came to on a split.
struct Evaluation {
  double loss = 0;
  Metrics metrics{};     // the loss among them
  int64_t examples = 0;  // that were evaluated
  bool interrupted = false;
};

/// Runs the model over the examples, without augmentation and without gradients.
Evaluation evaluate(Model& model, const BatchSource& source, const Objective& objective,
                    const EvaluateOptions& options);

}  // namespace vitrine
