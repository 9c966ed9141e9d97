#pragma once

#include <torch/types.h>

#include <functional>
#include <optional>
#include <string>

#include "vitrine/core/files.h"
#include "vitrine/data/batch.h"

namespace vitrine {

class Model;

/// What a frozen network makes of all examples of a split, in their order.
struct FeatureSet {
  torch::Tensor features;  // (N, ...) float
  torch::Tensor targets;   // (N) int64
  bool from_cache = false;
  double seconds = 0;  // that computing them took
};

/// From a batch of inputs to features, one row per example.
using FeatureFunction = std::function<torch::Tensor(const torch::Tensor&)>;

struct FeatureRequest {
  fs::path cache{};   // the folder of the cached files
  std::string key{};  // all that decides the features but the weights: model, data, split
  std::string label = "features";
  int64_t batch = 64;
  int64_t workers = 1;
  torch::Device device = torch::kCPU;
};

/// The XXH3 of a model's weights and buffers, without those of its head.
std::string backbone_checksum(Model& model);

/// Features of all examples without augmentation, computed with a progress bar or read from the
/// cache. A file of the cache holds its key, which must agree. Nothing after Ctrl-C.
std::optional<FeatureSet> cached_features(const BatchSource& source, const FeatureFunction& compute,
                                          const FeatureRequest& request);

}  // namespace vitrine
