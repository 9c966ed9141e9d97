#pragma once

#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/studies/sweep_result.h"

namespace vitrine {

/// The recipe's keys that a sweep sets by itself.
inline constexpr auto kLearningRateKey = "train.optimizer.lr";
inline constexpr auto kBudgetKey = "train.budget_seconds";

/// A key of the recipe and the values that it takes in turn.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};

/// What a sweep file says. At least one of `one_at_a_time`, `grid` and `list` has axes; the points
/// of all three follow each other.
struct SweepConfig {
  std::string name;
  fs::path recipe;
  std::vector<int64_t> seeds = {1};
  double budget = 0;                        // seconds per run; 0 = none
  int64_t workers = 1;                      // processes at once
  int64_t threads = 1;                      // of each process
  std::vector<Setting> set;                 // for every run, and the defaults of the axes
  std::vector<SweepAxis> one_at_a_time;     // each axis in turn, the others stay at `set`
  std::vector<SweepAxis> grid;              // all combinations
  std::vector<SweepAxis> list;              // point i takes the i-th value of each
  std::vector<std::string> learning_rates;  // each point tries these and keeps the best
  double search_budget = 0;                 // seconds per try; 0 = none
  std::string text;                         // the whole file
};

/// Reads a sweep file; the path of its recipe is relative to it. Errors name file, line and the
/// nearest key.
SweepConfig read_sweep(const fs::path& file);
/// Reads the text of a sweep file, which errors call `origin`; the recipe stays as written.
SweepConfig parse_sweep(const std::string& text, const std::string& origin);

/// The first key, other than the recipe, whose change alters what a run of the sweep means; "" if
/// all agree. Axes, seeds and workers may differ: they only decide which runs are made, and when.
std::string changed_meaning(const SweepConfig& before, const SweepConfig& now);

/// The same sweep under NAME-smoke, so small that a test can run it: one seed, two values per axis,
/// two seconds per run.
SweepConfig smoke_sweep_config(SweepConfig config);

}  // namespace vitrine
