#pragma once

#include <string>
#include <vector>

#include "vitrine/studies/sweep_config.h"
#include "vitrine/studies/sweep_result.h"

namespace vitrine {

/// The points of a sweep: those of one_at_a_time, of the grid, of the list. A point's settings are
/// all of `set`, with its own values in place of the defaults.
std::vector<SweepPoint> sweep_points(const SweepConfig& config);

/// The keys in which points differ, in the file's order; the learning rate too if it is searched.
std::vector<std::string> varied_keys(const SweepConfig& config);

/// `point` with `key` at `value`.
SweepPoint with_setting(SweepPoint point, const std::string& key, const std::string& value);

/// The folder name of a run, the same for all points that share the run:
/// "model.channels=32,model.embed=64,seed=1". Safe in every file system, under 200 letters.
std::string run_name(const SweepPoint& point, const std::vector<std::string>& varied, int64_t seed);

/// The `key=value` arguments that make a run of the point; `budget` in seconds, 0 = none.
std::vector<std::string> run_overrides(const SweepPoint& point, int64_t seed, double budget);

/// Every point with every learning rate; the tries of a point follow each other.
std::vector<SweepPoint> with_learning_rates(const std::vector<SweepPoint>& points,
                                            const std::vector<std::string>& rates);

/// Throws if the recipe of any point cannot be read: an unknown key, with the nearest known one, or
/// a value of the wrong type. Asked before the first run starts.
void check_sweep_recipes(const SweepConfig& config);

/// The best try of each point, after all of `with_learning_rates` have been run: the goal reached
/// after the fewest epochs, else the best selection metric, then the lowest loss, both on the
/// validation split, then the smallest rate. The test split decides nothing. Epochs, not seconds:
/// within a point they cost the same, whatever else the machine does.
std::vector<SweepPoint> best_tries(const SweepResult& search, size_t rates);

}  // namespace vitrine
