#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/spread.h"

namespace vitrine {

/// One key of a recipe and its value as text: "model.embed" and "64".
using Setting = std::pair<std::string, std::string>;

/// What one place of a sweep sets.
struct SweepPoint {
  std::string axis;  // the key that leaves its default here; "" in grids and lists
  std::vector<Setting> settings;

  /// The value of `key`, or "" if the point does not set it.
  std::string value(const std::string& key) const;
};

/// How a run of a sweep ended: at its goal, after its last epoch, at its time budget, or with an
/// error.
enum class RunEnd { Reached, Finished, OverBudget, Failed };

/// What one run came to. A run that failed has its error and no figures.
struct RunResult {
  int64_t seed = 0;
  RunEnd end = RunEnd::Failed;
  double accuracy = 0;             // on the test part, 0 .. 1; NaN where none is counted
  double validation_accuracy = 0;  // on the part kept out of training
  double loss = 0;                 // on the test part
  double seconds = 0;              // of training
  int64_t epochs = 0;
  int64_t parameters = 0;
  int64_t bytes = 0;  // of the checkpoint
  std::string error{};
  fs::path folder{};
};

/// The runs of one point, one per seed.
struct PointResult {
  SweepPoint point;
  std::vector<RunResult> runs;
};

struct SweepResult {
  std::string name;
  std::vector<PointResult> points;
};

/// Over the runs that did not fail.
Spread spread(const PointResult& point, double RunResult::*figure);

}  // namespace vitrine
