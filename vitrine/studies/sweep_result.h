#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/mean_std.h"
#include "vitrine/train/run_result.h"

namespace vitrine {

inline bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// One key of a recipe and its value as text: "model.embed" and "64".
using Setting = std::pair<std::string, std::string>;

/// Gives `key` this value, in place of the one it has.
void put_setting(std::vector<Setting>& settings, const std::string& key, const std::string& value);

/// What one place of a sweep sets.
struct SweepPoint {
  std::string axis{};  // the key that leaves its default here; "" in grids and lists
  std::vector<Setting> settings;

  /// The value of `key`, or "" if the point does not set it.
  std::string value(const std::string& key) const;
  /// The value of `key` as a number; nothing if it is none.
  std::optional<double> number(const std::string& key) const;
};

/// A run of a sweep: what it came to, or why it failed.
struct SweepRun {
  int64_t seed = 0;
  std::optional<RunOutcome> outcome{};
  std::string error{};
  fs::path folder{};

  bool failed() const { return !outcome; }
  bool stopped(StopReason reason) const { return outcome && outcome->stop_reason == reason; }
};

/// The runs of one point, one per seed.
struct PointResult {
  SweepPoint point;
  std::vector<SweepRun> runs{};

  bool any_failed() const;
  bool any_stopped(StopReason reason) const;
};

struct SweepResult {
  std::string name;
  std::vector<PointResult> points;
};

/// The runs of all points.
std::vector<SweepRun> all_runs(const SweepResult& sweep);

/// How the runs of a sweep ended.
struct RunCounts {
  int64_t runs = 0, over_budget = 0, failed = 0;
};
RunCounts count_runs(const SweepResult& sweep);

/// A number that a run came to.
using RunFigure = std::function<double(const RunOutcome&)>;
double test_figure(const RunOutcome& outcome);        // the selection metric on the test split
double validation_figure(const RunOutcome& outcome);  // the same on the validation split
double test_loss_figure(const RunOutcome& outcome);
double seconds_figure(const RunOutcome& outcome);  // of training

/// Over the runs that did not fail.
MeanStd mean_std(const PointResult& point, const RunFigure& figure);

/// `mean_std` of the point; nothing if all its runs failed or one left no number.
std::optional<MeanStd> measured(const PointResult& point, const RunFigure& figure);

}  // namespace vitrine
