#pragma once

#include <cstdint>
#include <string>

#include "vitrine/core/files.h"
#include "vitrine/train/metric.h"

namespace vitrine {

/// Why a run ended.
enum class StopReason { Finished, StoppedEarly, ReachedGoal, OverBudget, Interrupted };

/// The reason as result.json names it ("over_budget") and as people read it ("stopped at its time
/// budget").
std::string stop_reason_name(StopReason reason);
std::string stop_reason_text(StopReason reason);

/// What a run came to. All metrics are those of the best checkpoint, which the selection metric on
/// the validation split chose; the test split was read once, at the end.
struct RunOutcome {
  StopReason stop_reason = StopReason::Finished;
  Metric selection_metric{};
  Metrics validation{}, test{};  // `test` is empty for a run that was interrupted
  int64_t epochs = 0, steps = 0;
  double seconds = 0;  // of training
  int64_t parameters = 0;
  int64_t checkpoint_bytes = 0;
  int64_t peak_bytes = 0;  // the most memory of the process that trained; 0: not known
  fs::path folder{};       // of the run; not stored

  /// The selection metric on either split; NaN if it was not measured.
  double validation_value() const { return metric_value(validation, selection_metric.name); }
  double test_value() const { return metric_value(test, selection_metric.name); }
  double validation_loss() const { return metric_value(validation, kLossName); }
  double test_loss() const { return metric_value(test, kLossName); }
};

/// result.json, the last file that a run writes, with a checksum.
void write_run_outcome(const fs::path& file, const RunOutcome& outcome);
/// Throws if the file is missing, damaged or not a result.
RunOutcome read_run_outcome(const fs::path& file);

}  // namespace vitrine
