#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/addition/study.h"

namespace vitrine {

/// The value that the point gives to `key`, as a number; throws if it gives none.
double setting_number(const SweepPoint& point, const std::string& key);

/// `mean_std` of the point; absent if all its runs failed or one left no number.
std::optional<MeanStd> measured(const PointResult& point, const RunFigure& figure);

/// What the study varies: "embed 128, layers 2, channels 64, lr 0.008".
std::string settings_text(const std::vector<Setting>& settings);

/// The points on the line of `key` in a sweep of one setting at a time, by rising value.
std::vector<const PointResult*> points_along(const SweepResult& sweep, const std::string& key);

/// The point of highest mean accuracy on the validation split (of lowest loss there among equals);
/// null if every run failed.
const PointResult* best_point(const SweepResult& sweep);

/// By how much the mean accuracy varies along `key`: highest minus lowest; absent with less than
/// two values.
std::optional<double> accuracy_range(const SweepResult& sweep, const std::string& key);

/// How the runs of a sweep ended.
struct RunCounts {
  int64_t runs = 0, over_budget = 0, failed = 0;
};
RunCounts count_runs(const SweepResult& sweep);

/// Which network is clearly ahead: by more than both standard deviations together and by more than
/// 0.1 % of the pairs.
enum class Lead { Cnn, Transformer, Neither };

/// Both networks at the same value of one key.
struct SharedPoint {
  double value = 0;
  PerArchitecture<MeanStd> accuracy{};
  Lead lead = Lead::Neither;
};

/// The values of `key` at which both sweeps have a run that did not fail, rising.
std::vector<SharedPoint> shared_points(const PerArchitecture<std::optional<SweepResult>>& sweeps,
                                       const std::string& key);

/// The shared point where this network is furthest ahead; null if it is clearly ahead nowhere.
const SharedPoint* strongest_lead(const std::vector<SharedPoint>& points,
                                  AdditionArchitecture architecture);

/// Of the first run that did not fail; 0 if all failed.
int64_t parameters_of(const PointResult& point);
int64_t bytes_of(const PointResult& point);

/// Whether each of the two is clearly ahead somewhere.
bool winner_flips(const std::vector<SharedPoint>& points);

/// How many runs of the point came to `accuracy` or higher on the test split.
int64_t runs_with(const PointResult& point, double accuracy);

/// The point with the fewest parameters at which some run came to `accuracy`; null if there is
/// none.
const PointResult* smallest_point(const SweepResult& sweep, double accuracy);

}  // namespace vitrine
