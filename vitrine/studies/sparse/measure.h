#pragma once

#include "vitrine/core/files.h"
#include "vitrine/studies/sparse/study.h"

namespace vitrine::sparse {

/// The stride that goes with a length: sqrt(n), up to a multiple of 16.
int64_t stride_for(int64_t tokens);

/// What dense attention takes of memory: a few score matrices of two heads.
double dense_attention_bytes(int64_t tokens);

/// Forward and backward pass of sparse and dense attention, by turns; medians over the rounds.
CostPart measure_cost(const std::vector<int64_t>& lengths, int64_t rounds);

/// One step of a model of the registry with batch 1, each way in a process of its own.
StepPart measure_step(const std::string& model, const std::vector<std::string>& overrides);

/// Whole sequences drawn by models with random weights.
SamplingPart measure_sampling(const std::vector<std::string>& models,
                              const std::vector<std::string>& overrides,
                              const std::vector<int64_t>& batches);

/// What the run's network makes up from nothing and from the upper halves of test images. The
/// files lie in `folder`/`below`.
ImagesPart make_images(const fs::path& run, const fs::path& folder, const std::string& below);

}  // namespace vitrine::sparse
