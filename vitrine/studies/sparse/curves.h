#pragma once

#include <limits>
#include <string>
#include <vector>

#include "vitrine/studies/sweep_config.h"
#include "vitrine/studies/sweep_result.h"
#include "vitrine/train/metrics.h"

namespace vitrine::sparse {

/// Bits per dim over seconds of training; evaluations take none of them.
struct Curve {
  std::vector<double> seconds{}, bits{};
};

/// What a run's metrics.jsonl tells.
struct RunCurves {
  Curve training{};    // a point for each logged step
  Curve validation{};  // a point for each evaluation
  int64_t updates = 0;
  double seconds = 0;
};

/// The curves of `metric`, which is in bits per dim.
RunCurves curves_of(const std::vector<MetricsLine>& lines, const Metric& metric);

/// The curve in at most `bins` equal spans of time, each with the mean of all its points.
Curve binned(const Curve& curve, int64_t bins);

/// A run of the study; one that failed has its error and no curves.
struct TrainedRun {
  std::string name{};  // the value that sets it apart
  RunCurves curves{};
  double best_validation = std::numeric_limits<double>::quiet_NaN();  // bits per dim
  double test = std::numeric_limits<double>::quiet_NaN();             // bits per dim
  double pair_share = 0;  // of the pairs of a dense pattern
  bool over_budget = false;
  std::string error{};
  fs::path folder{};
};

/// A sweep of one setting over one seed.
struct TrainedPart {
  std::string key{};  // what the runs differ in
  double budget = 0;  // seconds per run
  int64_t threads = 1;
  std::vector<TrainedRun> runs{};
};

/// Gathers what the runs left behind.
TrainedPart trained_part(const SweepConfig& config, const SweepResult& result);

}  // namespace vitrine::sparse
