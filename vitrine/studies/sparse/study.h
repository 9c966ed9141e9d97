#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/run_curves.h"
#include "vitrine/studies/study.h"

namespace vitrine {

/// The texts of the study, text/CODE.yaml.
const report::TextSet& sparse_texts();

}  // namespace vitrine

namespace vitrine::sparse {

/// Bits per dim in a run's metrics.jsonl.
struct RunCurves {
  TimeCurve training{};    // a point for each logged step
  TimeCurve validation{};  // a point for each evaluation
};

/// A run of the study; one that failed has no curves.
struct TrainedRun {
  std::string name{};  // the value that sets it apart
  SweepRun result{};   // whose selection metric is in bits per dim
  RunCurves curves{};
  double pair_fraction = 0;  // of the pairs of a dense pattern
};

/// A sweep of one setting over one seed.
struct TrainedPart {
  std::string key{};  // what the runs differ in
  double budget = 0;  // seconds per run
  int64_t threads = 1;
  std::vector<TrainedRun> runs{};
};

/// One attention over a sequence: dimension 256, 2 heads, queries and keys of half the dimension.
struct AttentionCost {
  int64_t tokens = 0;
  int64_t stride = 0;                   // of the strided pattern; 0: dense
  double forward_ms = 0, total_ms = 0;  // medians; total: forward and backward
  int64_t bytes = 0;                    // the most it had beyond its inputs; 0: not known
};

/// Sparse against dense attention over rising lengths; dense only as far as the memory goes.
struct CostPart {
  int64_t threads = 0, rounds = 0;
  std::vector<AttentionCost> sparse{}, dense{};
};

/// A training step of one network in a process of its own.
struct StepCost {
  std::string pattern{};
  bool recompute = false;
  double seconds = 0;      // 0: it would not fit and was not run
  int64_t peak_bytes = 0;  // of the whole process; 0: not known
};

/// What decides the memory of a network besides the length of its sequences.
struct NetworkSize {
  int64_t parameters = 0, layers = 0, dim = 0, key_width = 0, hidden = 0;
};

struct StepPart {
  std::string model{};
  NetworkSize size{};
  int64_t tokens = 0, threads = 0;
  StepCost sparse{}, dense{};  // with recomputation
  StepCost all_kept{};         // sparse without
};

/// Bytes per second while whole sequences are sampled, with a KV cache and without.
struct SamplingSpeed {
  std::string model{};
  int64_t batch = 0, tokens = 0;  // tokens: of each sequence
  double cached = 0, uncached = 0;
  int64_t passes = 0;  // whole forward passes that were timed for `uncached`
};

struct SamplingPart {
  int64_t threads = 0;
  std::vector<SamplingSpeed> speeds{};
};

/// Images that belong together, as files in the study's folder; texts have the title of `name`.
struct ImageSet {
  std::string name{};
  std::vector<std::string> files{};
};

struct ImagesPart {
  std::vector<ImageSet> sets{};
};

/// Everything the study found; what has not been run is absent.
struct SparseStudy {
  std::map<std::string, TrainedPart> trained{};  // by the part's name
  std::optional<CostPart> cost{};
  std::optional<StepPart> step{};
  std::optional<SamplingPart> sampling{};
  std::optional<ImagesPart> images{};
};

/// The parts of the study, in the order in which they run.
inline const std::vector<std::string>& sparse_parts() {
  static const std::vector<std::string> parts = {"cost",   "step",    "sampling", "patterns",
                                                 "orders", "strides", "best",     "images"};
  return parts;
}

/// Runs the parts (the sweeps PART.yaml train) and takes the others as far as they are complete.
/// What was measured before is measured again only if it is asked for by name; training continues
/// where it stopped. Stops after Ctrl-C: see `interrupted`.
SparseStudy run_sparse_study(const StudyOptions& options);

/// Writes what the study found into `folder`: a page that needs nothing but itself for each
/// language, with its figures as PNG and SVG. Parts that have not been run are named as missing.
void write_sparse_report(const SparseStudy& study, const fs::path& folder,
                         const std::vector<std::string>& languages = {});

}  // namespace vitrine::sparse
