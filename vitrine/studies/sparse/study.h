#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/studies/sparse/curves.h"

namespace vitrine::sparse {

/// One attention over a sequence: width 256, 2 heads, queries and keys of half the width.
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
  double seconds = 0;
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
  StepCost sparse{}, dense{};          // with recomputation
  std::optional<StepCost> all_kept{};  // sparse without; absent if it would not fit
};

/// Bytes per second while whole sequences are drawn, with keys and values kept and without.
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

/// Images that belong together, as files in the study's folder.
struct ImageSet {
  std::string name{}, title{};
  int64_t columns = 8;
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

}  // namespace vitrine::sparse
