#pragma once

#include <string>
#include <vector>

#include "vitrine/studies/sweep_config.h"
#include "vitrine/studies/sweep_result.h"

namespace vitrine {

/// "reached", "finished", "over budget" or "failed".
std::string end_text(RunEnd end);

/// What a run came to, in a few words: "embed=64 seed 2: exact in 3.1 s". Of the `varied` keys it
/// names the point's axis, or all if it has none.
std::string run_note(const SweepPoint& point, const std::vector<std::string>& varied,
                     const RunResult& run);

/// One line per run, with every setting, in full precision. A run that several points share stands
/// there once.
std::string results_csv(const SweepResult& result);

/// A heading that tells how the runs were made, then one row per point with means and standard
/// deviations over the seeds; `command` is the one that made it.
std::string results_markdown(const SweepResult& result, const SweepConfig& config,
                             const std::string& command);

}  // namespace vitrine
