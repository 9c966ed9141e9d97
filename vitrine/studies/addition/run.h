#pragma once

#include <string>
#include <vector>

#include "vitrine/studies/addition/study.h"

namespace vitrine {

/// How the study is run; the sweeps themselves are files.
struct AdditionStudyOptions {
  fs::path sweeps = "recipes/addition";  // with ADDER-PART.yaml for each kind of network
  fs::path out = "studies/addition";
  std::vector<std::string> parts{};  // to run; empty = all of `addition_parts`
  int64_t workers = 0;               // processes at once; 0: as each sweep says
  bool smoke = false;                // sizes that a test can run
};

/// The parts of the study, in the order in which they run: quick ones first.
const std::vector<std::string>& addition_parts();

/// Runs the parts, going on where an earlier call was broken off, and takes the others as far as
/// they are complete. Stops after Ctrl-C: see `interrupted`.
AdditionStudy run_addition_study(const AdditionStudyOptions& options);

}  // namespace vitrine
