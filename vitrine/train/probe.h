#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/train/run.h"

namespace vitrine {

/// A linear classifier: logits = x weight^T + bias.
struct LinearClassifier {
  torch::Tensor weight;  // (N, C)
  torch::Tensor bias;    // (N)
};

/// Minimises mean cross-entropy + weight_decay / 2 |weight|^2 over features (B, C) and their
/// classes (B) by L-BFGS with all examples at once, beginning at `start`.
LinearClassifier fit_linear(const torch::Tensor& features, const torch::Tensor& targets,
                            double weight_decay, const LinearClassifier& start);

struct ProbeOptions {
  fs::path cache = "cache/features";  // where features are kept
  /// Each is tried; the validation split chooses. The strongest comes first.
  std::vector<double> weight_decays = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
};

/// A linear probe: features of `recipe.init` are computed once and cached, a linear classifier is
/// trained on them (standardised), and the best one on the validation split is tested. The run
/// folder holds the network with that classifier as its head. What the recipe says of training is
/// not used. Interrupted runs have no folder; features of whole splits are kept.
RunOutcome run_probe(Recipe recipe, const RunOptions& options, const ProbeOptions& probe);

}  // namespace vitrine
