#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/core/fields.h"

namespace vitrine {

/// How the parts of an image get a number: attention rollout (what attention lets through, the same
/// for every class), gradient-weighted relevance and Grad-CAM (evidence for one class).
enum class ExplainMethod { Rollout, Relevance, GradCam };
const Choices<ExplainMethod>& explain_method_names();
/// "attention rollout", "relevance", "Grad-CAM".
std::string method_title(ExplainMethod method);

/// How the heads of a layer become one matrix of weights.
enum class HeadFusion { Mean, Max, Min };
const Choices<HeadFusion>& head_fusion_names();

struct RolloutConfig {
  HeadFusion heads = HeadFusion::Mean;
  double discard = 0;  // this fraction of each layer's weights, the smallest, becomes 0

  void validate() const;
};

/// What an explanation shall hold.
struct ExplainConfig {
  std::vector<ExplainMethod> methods{};  // empty: all that the model has
  RolloutConfig rollout{};
  std::string target{};       // a class by its name or its index; empty: the most likely one
  bool faithfulness = false;  // also measure deletion and insertion curves
  uint64_t seed = 1;          // of the random order beside them
  bool weights = true;        // also what is the same for every image: positions and filters
};

}  // namespace vitrine
