#pragma once

#include <string>
#include <vector>

#include "vitrine/core/remote_shell.h"
#include "vitrine/studies/sweep_config.h"
#include "vitrine/studies/sweep_result.h"

namespace vitrine {

/// How a sweep is run; none of it changes the results.
struct SweepOptions {
  fs::path out = "sweeps";           // the sweep's folder is OUT/NAME
  fs::path program{};                // whose `train` makes the runs; empty: the program that calls
  int64_t workers = 0;               // processes at once (on each host); 0: as the sweep file says
  std::vector<std::string> hosts{};  // where they work; none: here
  std::string ssh = RemoteShell::kDefault;
  bool retry_failed = false;  // rerun what failed
  bool only_stored = false;   // make no runs and write nothing: give what is there
  std::string command{};      // the command line, for the heading of the tables
};

/// Where a sweep keeps its runs, its tables and copies of its two files.
fs::path sweep_folder(const SweepConfig& config, const SweepOptions& options);

/// Makes all runs that are not there yet, several at once, and gives the results of all. The tables
/// are up to date after each run, so a sweep that was killed continues where it stopped;
/// results.png and .svg are drawn at the end. After Ctrl-C the runs in work save themselves, and
/// what is there is given: see `is_complete`.
SweepResult run_sweep(const SweepConfig& config, const SweepOptions& options);

/// Whether no run is missing.
bool is_complete(const SweepResult& result, const SweepConfig& config);

}  // namespace vitrine
