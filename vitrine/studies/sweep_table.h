#pragma once

#include <string>
#include <vector>

#include "vitrine/studies/sweep_config.h"
#include "vitrine/studies/sweep_result.h"

namespace vitrine {

/// What a run came to, in a few words: "embed=64 seed 2: exact in 3.1 s". Of the `varied` keys it
/// names the point's axis, or all if it has none.
std::string run_note(const SweepPoint& point, const std::vector<std::string>& varied,
                     const SweepRun& run);

/// One line per run, with every setting and every metric of both splits, in full precision. A run
/// that several points share stands there once.
std::string results_csv(const SweepResult& result);

/// A heading that tells how the runs were made, then one row per point with means and standard
/// deviations over the seeds, each metric under the split it is of; `command` is the one that made
/// it.
std::string results_markdown(const SweepResult& result, const SweepConfig& config,
                             const std::string& command);

}  // namespace vitrine
