#pragma once

#include <torch/types.h>

#include <memory>

namespace vitrine {

class SparseTransformer;

struct SampleOptions {
  int64_t count = 16;
  double temperature = 1;  // below 1: likelier bytes more often
  int64_t top_k = 0;       // only the k likeliest bytes; 0 = all
  uint64_t seed = 1;
  torch::Tensor given =
      {};  // (count, kept) int64: how the sequences start; undefined: with nothing

  void validate() const;
};

/// The byte drawn for each row of scores (B, 256): decided by seed, row and position alone.
torch::Tensor draw_bytes(const torch::Tensor& scores, const SampleOptions& options,
                         int64_t position);

/// Sequences that the model makes up, (count, T) int64, with a progress bar.
torch::Tensor sample_bytes(const std::shared_ptr<SparseTransformer>& model,
                           const SampleOptions& options);

}  // namespace vitrine
