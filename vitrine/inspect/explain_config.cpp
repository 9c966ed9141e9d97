#include "vitrine/inspect/explain_config.h"

#include "vitrine/core/error.h"

namespace vitrine {

const Choices<ExplainMethod>& explain_method_names() {
  static const Choices<ExplainMethod> names = {{"rollout", ExplainMethod::Rollout},
                                               {"relevance", ExplainMethod::Relevance},
                                               {"gradcam", ExplainMethod::GradCam}};
  return names;
}

std::string method_title(ExplainMethod method) {
  switch (method) {
    case ExplainMethod::Rollout:
      return "attention rollout";
    case ExplainMethod::Relevance:
      return "relevance";
    case ExplainMethod::GradCam:
      return "Grad-CAM";
  }
  return "";
}

const Choices<HeadFusion>& head_fusion_names() {
  static const Choices<HeadFusion> names = {
      {"mean", HeadFusion::Mean}, {"max", HeadFusion::Max}, {"min", HeadFusion::Min}};
  return names;
}

void RolloutConfig::validate() const {
  check(discard >= 0 && discard < 1, "rollout: discard {} is out of range (0 to below 1)", discard);
}

}  // namespace vitrine
