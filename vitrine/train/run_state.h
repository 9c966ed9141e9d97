#pragma once

#include <cstdint>

#include "vitrine/train/evaluate.h"
#include "vitrine/train/optimizer.h"
#include "vitrine/train/run_fingerprint.h"
#include "vitrine/train/run_folder.h"

namespace vitrine {

/// The position in a run, between two optimizer steps.
struct RunPosition {
  int64_t epoch = 0;       // epochs done
  int64_t batch = 0;       // batches done in the epoch under way
  int64_t step = 0;        // optimizer steps done
  Metrics best{};          // of the best checkpoint on the validation split; empty: none yet
  int64_t best_epoch = 0;  // epochs that it has seen
  int64_t evaluations_without_gain = 0;  // since the selection metric last became better
  bool finished = false;
  int64_t threads = 0;
  std::string objective{};  // its checksum
  RunFingerprint fingerprint{};
  int64_t metrics_bytes = 0;
  double seconds = 0;           // spent training so far
  MetricAccumulator running{};  // of the epoch under way
};

/// Writes weights, moments, average weights (or null) and position as one atomic file, and keeps
/// the one before it (where the file system has hard links).
void save_run_state(const RunFolder& folder, const Model& model, const Model* average,
                    const Optimizer& optimizer, const RunPosition& position);

/// Restores them; throws if the file is missing, damaged or of another model.
RunPosition load_run_state(const RunFolder& folder, Model& model, Model* average,
                           Optimizer& optimizer);

/// Puts the state before the last one in its place if that one is missing or damaged, and says so;
/// empty if the last one is whole. Throws if there is no whole one.
std::string recover_run_state(const RunFolder& folder);

/// Restores the weights alone.
void load_run_weights(const RunFolder& folder, Model& model);

/// The position alone, without touching any weights.
RunPosition read_run_position(const RunFolder& folder);

}  // namespace vitrine
