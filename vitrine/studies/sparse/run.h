#pragma once

#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/studies/sparse/study.h"

namespace vitrine::sparse {

/// How the study is run.
struct SparseStudyOptions {
  fs::path sweeps = "recipes/sparse";  // with PART.yaml for each part that trains
  fs::path out = "studies/sparse";
  std::vector<std::string> parts{};  // to run; empty = all of `sparse_parts` that are missing
  int64_t workers = 0;               // processes at once; 0: as each sweep says
  bool smoke = false;                // sizes that a test can run
};

/// The parts of the study, in the order in which they run.
const std::vector<std::string>& sparse_parts();

/// Runs the parts and takes the others as far as they are complete. What was measured before is
/// measured again only if it is asked for by name; training goes on where it was. Stops after
/// Ctrl-C: see `interrupted`.
SparseStudy run_sparse_study(const SparseStudyOptions& options);

}  // namespace vitrine::sparse
