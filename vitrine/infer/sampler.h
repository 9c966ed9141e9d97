#pragma once

#include <torch/types.h>

namespace vitrine {

struct SampleOptions {
  int64_t count = 16;
  double temperature = 1;  // below 1 sharpens, above 1 flattens
  int64_t top_k = 0;       // sample from the k most probable tokens; 0 = from all
  uint64_t seed = 1;
  torch::Tensor prefix = {};  // (count, kept) int64: how sequences begin; undefined: with nothing

  void validate() const;
};

/// The token sampled for each row of logits (B, vocabulary): decided by seed, row and position.
torch::Tensor sample_next_token(const torch::Tensor& logits, const SampleOptions& options,
                                int64_t position);

}  // namespace vitrine
