#pragma once

#include <string>
#include <vector>

#include "vitrine/studies/sparse/study.h"

namespace vitrine {
class ModelChoice;
struct SparseTransformerConfig;
}  // namespace vitrine

namespace vitrine::sparse {

/// The settings of a model that is a sparse transformer; throws for other models.
SparseTransformerConfig sparse_config(const ModelChoice& choice);

/// One step of a model of the registry with batch 1, each way in a process of its own.
StepPart measure_step(const std::string& model, const std::vector<std::string>& overrides);

/// Whole sequences sampled by models with random weights.
SamplingPart measure_sampling(const std::vector<std::string>& models,
                              const std::vector<std::string>& overrides,
                              const std::vector<int64_t>& batches);

/// What the run's network generates from nothing and from the upper halves of test images. The
/// files are saved in `folder`/`below`.
ImagesPart generate_images(const fs::path& run, const fs::path& folder, const std::string& below);

}  // namespace vitrine::sparse
