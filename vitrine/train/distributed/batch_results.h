#pragma once

#include <vector>

#include "vitrine/train/distributed/worker_group.h"
#include "vitrine/train/metric.h"

namespace vitrine {

/// What a model came to on one batch.
struct BatchResult {
  int64_t step = 0;  // which batch of the pass
  double loss = 0;   // mean
  int64_t targets = 0, examples = 0;
  Metrics sums{};
};

struct GatheredResults {
  std::vector<BatchResult> batches{};  // of all ranks, in the order of the pass
  std::vector<double> leader{};        // what rank 0 said
  bool interrupted = false;            // any rank
};

/// The results of all ranks, the same on each of them. `say` is what rank 0 tells the others.
GatheredResults gather_results(const WorkerGroup& group, std::vector<BatchResult> mine,
                               bool interrupted, const std::vector<double>& say = {});

}  // namespace vitrine
