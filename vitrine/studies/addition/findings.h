#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/addition/study.h"
#include "vitrine/studies/sweep_figure.h"

namespace vitrine::addition {

/// What the study varies: "embed 128, layers 2, channels 64, lr 0.008".
std::string settings_text(const std::vector<Setting>& settings);

/// The point of highest mean accuracy on the validation split (of lowest loss there among equals);
/// null if every run failed.
const PointResult* best_point(const SweepResult& sweep);

/// By how much the mean accuracy varies along `key`: highest minus lowest; nothing with less than
/// two values.
std::optional<double> accuracy_range(const SweepResult& sweep, const std::string& key);

/// Both networks at the same value of one key. One is clearly ahead if it is so by more than both
/// standard deviations together and by more than 0.1 % of the pairs.
struct SharedPoint {
  double value = 0;
  PerArchitecture<MeanStd> accuracy{};
  std::optional<Architecture> lead{};
};

/// The values of `key` at which both sweeps have a run that did not fail, rising.
std::vector<SharedPoint> shared_points(const Sweeps& sweeps, const std::string& key);

/// The shared point where this network is furthest ahead; null if it is clearly ahead nowhere.
const SharedPoint* strongest_lead(const std::vector<SharedPoint>& points, Architecture network);

/// Whether each of the two is clearly ahead somewhere.
bool winner_flips(const std::vector<SharedPoint>& points);

/// The size of the first run that did not fail, such as `&RunOutcome::parameters`; 0 if all failed.
int64_t size_of(const PointResult& point, int64_t RunOutcome::*size);

/// How many runs of the point came to `accuracy` or higher on the test split.
int64_t runs_with(const PointResult& point, double accuracy);

/// The point with the fewest parameters at which some run came to `accuracy`; null if there is
/// none.
const PointResult* smallest_point(const SweepResult& sweep, double accuracy);

/// Answers of both networks, one set per seed; one of the two may have none.
using AnswersOfBoth = PerArchitecture<std::vector<AdditionAnswers>>;

/// Whether any answer of either network is wrong.
bool any_wrong(const AnswersOfBoth& answers);

}  // namespace vitrine::addition
