#pragma once

#include <cstdint>
#include <string>

#include "vitrine/core/files.h"

namespace vitrine {

/// What a run came to: result.json, the last file that a run writes.
struct RunOutcome {
  std::string end;  // "finished", "stopped_early", "reached" (its goal) or "over_budget"
  int64_t epochs = 0, steps = 0;
  double seconds = 0;              // of training
  double accuracy = 0, loss = 0;   // of the best checkpoint, on the test part
  double validation_accuracy = 0;  // of the best checkpoint; both are NaN where none is counted
  int64_t parameters = 0;
  int64_t checkpoint_bytes = 0;
};

void write_run_outcome(const fs::path& file, const RunOutcome& outcome);
/// Throws if the file is missing or not a result.
RunOutcome read_run_outcome(const fs::path& file);

}  // namespace vitrine
