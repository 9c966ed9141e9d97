#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"

namespace vitrine {

class SparseTransformer;
struct SparseTransformerConfig;

/// The network of a run folder (its best checkpoint) or checkpoint; throws if it does not tell
/// bytes.
std::shared_ptr<SparseTransformer> load_byte_model(const fs::path& run_or_checkpoint);

/// Each row of (N, T) bytes, in interleaved order, as a picture.
std::vector<Image> pictures_of(const SparseTransformerConfig& config, const torch::Tensor& bytes);

struct SampleOptions {
  int64_t count = 16;
  double temperature = 1;  // below 1: likelier bytes more often
  int64_t top_k = 0;       // only the k likeliest bytes; 0 = all
  uint64_t seed = 1;
  torch::Tensor given = {};  // (count, kept) int64: how sequences start; undefined: with nothing

  void validate() const;
};

/// The byte drawn for each row of scores (B, 256): decided by seed, row and position alone.
torch::Tensor draw_bytes(const torch::Tensor& scores, const SampleOptions& options,
                         int64_t position);

/// Sequences that the model makes up, (count, T) int64, with a progress bar.
torch::Tensor sample_bytes(const std::shared_ptr<SparseTransformer>& model,
                           const SampleOptions& options);

}  // namespace vitrine
