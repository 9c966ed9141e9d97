#pragma once

#include <functional>
#include <memory>

#include "vitrine/data/batch.h"
#include "vitrine/train/config.h"
#include "vitrine/train/metrics.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/run_folder.h"

namespace vitrine {

struct TrainRequest {
  const Recipe& recipe;
  const RunFolder& folder;
  const Objective& objective;
  bool resume = false;
  std::string device = "cpu";
  int64_t threads = 0;
  bool show_progress = true;
  /// Called once metrics.jsonl stands where the run starts.
  std::function<void()> on_start = {};
  /// Called with each line that is added to metrics.jsonl.
  std::function<void(const MetricsLine&)> on_metrics = {};
};

enum class TrainEnd { Finished, StoppedEarly, ReachedGoal, OverBudget, Interrupted };

struct TrainResult {
  TrainEnd end = TrainEnd::Finished;
  int64_t epochs = 0, steps = 0;
  double seconds = 0;
  double best = 0;  // of the watched metric on the validation part
};

/// The recipe's model with its first random weights; throws if it does not fit the data.
std::shared_ptr<Model> build_for_training(const Recipe& recipe, const Splits& data);

/// Trains as the recipe says, leaving metrics, checkpoints and a resume state in the run folder.
/// A run that was killed at any moment and resumed ends with the same weights, bit for bit.
TrainResult train(const TrainRequest& request, std::shared_ptr<Model> model, const Splits& data);

}  // namespace vitrine
