#pragma once

#include <torch/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/data/batch.h"
#include "vitrine/formats/safetensors.h"
#include "vitrine/train/config.h"

namespace vitrine {

/// What a frozen network makes of all examples of a split, in their order.
struct FeatureSet {
  static constexpr int64_t kPartRows = 4096;

  std::vector<torch::Tensor> parts{};  // (kPartRows, ...), the last of fewer rows: mapped files
  torch::Tensor targets{};             // (N) int64
  bool from_cache = false;
  double seconds = 0;  // that computing them took

  int64_t size() const { return targets.size(0); }
  /// The features of one example, in the precision in which they are kept.
  torch::Tensor row(int64_t i) const { return parts[i / kPartRows][i % kPartRows]; }
};

/// From a batch of inputs to features, one row per example.
using FeatureFunction = std::function<torch::Tensor(const torch::Tensor&)>;

struct FeatureRequest {
  fs::path cache{};   // the folder of the cached files
  std::string key{};  // all that decides the features: weights, network, data, split
  std::string label = "features";
  int64_t batch = 64;
  int64_t workers = 1;
  int64_t epoch = -1;  // of which augmentation; -1: none
  torch::Dtype dtype = torch::kFloat;
  torch::Device device = torch::kCPU;
};

/// The XXH3 of named tensors.
std::string checksum_of(const NamedTensors& tensors);

/// What decides a split's examples as a network sees them: data, preprocessing and seed, but
/// neither batches nor augmentation.
std::string examples_key(const Recipe& recipe, const std::string& split);

/// Features of all examples, computed with a progress bar or read from the cache, which keeps them
/// in files of `kPartRows` examples: what is done is not computed again after a kill, what is
/// damaged is. A file holds its key, which must agree. Values that the dtype cannot hold throw.
/// Nothing after Ctrl-C.
std::optional<FeatureSet> cached_features(const BatchSource& source, const FeatureFunction& compute,
                                          const FeatureRequest& request);

}  // namespace vitrine
