#pragma once

#include <functional>
#include <memory>

#include "vitrine/data/batch.h"
#include "vitrine/train/config.h"
#include "vitrine/train/metrics.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/run_fingerprint.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/train/run_result.h"

namespace vitrine {

class WorkerGroup;

/// An epoch that has just ended.
struct EpochSummary {
  int64_t epoch = 0, epochs = 0;  // done, and in all
  Metrics train{}, validation{};  // `validation` is empty if the epoch was not evaluated
  Metrics best{};                 // on the validation split, so far
  int64_t best_epoch = 0;
  double seconds = 0;  // of training so far
};

struct TrainRequest {
  const Recipe& recipe;
  const RunFolder& folder;
  const Objective& objective;
  bool resume = false;
  RunFingerprint fingerprint = {};
  std::string device = "cpu";
  int64_t threads = 0;
  const WorkerGroup* group = nullptr;  // its ranks train together, rank 0 writes; null: alone
  bool show_progress = true;
  /// Called once metrics.jsonl stands where the run starts.
  std::function<void()> on_start = {};
  /// Called with each line that is added to metrics.jsonl.
  std::function<void(const MetricsLine&)> on_metrics = {};
  std::function<void(const EpochSummary&)> on_epoch = {};
};

/// The recipe's model with random weights, its frozen parameters marked (`train.freeze`); throws if
/// it does not fit the data. `InitWeights` brings pre-trained weights.
std::shared_ptr<Model> build_for_training(const Recipe& recipe, const Splits& data);

/// Trains as the recipe says, leaving metrics, checkpoints and a resume state in the run folder.
/// A run that was killed at any moment and resumed ends with the same weights, bit for bit. The
/// test split is not touched.
RunOutcome train(const TrainRequest& request, std::shared_ptr<Model> model, const Splits& data);

}  // namespace vitrine
