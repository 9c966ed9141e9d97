#pragma once

#include <cstdint>

#include "vitrine/data/registry.h"

namespace vitrine {

/// How many waves there are, and how much of each is seen.
struct WaveOptions {
  int64_t length = 20;  // values that are seen
  int64_t train = 4096, validation = 512, test = 1024;
  double noise = 0;  // standard deviation of what is added to the values that are seen

  void validate() const;
};

/// Waves y(t) = A sin(f t + phi) with random A in [0.5, 1.5], f in [0.2, 1.0] radians per step and
/// phi in [0, 2 pi]: the values at t = 0 .. length - 1 (B, length) in, the next one (B) as target.
/// A wave depends on (seed, split, its index) alone.
Splits waves(const WaveOptions& options, uint64_t seed);

DatasetEntry waves_dataset();

}  // namespace vitrine
