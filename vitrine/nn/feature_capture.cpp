#include "vitrine/nn/feature_capture.h"

#include <torch/torch.h>

namespace vitrine {
namespace {

thread_local FeatureCapture* innermost_features = nullptr;

}  // namespace

FeatureCapture::FeatureCapture() : outer_(innermost_features) { innermost_features = this; }
FeatureCapture::~FeatureCapture() { innermost_features = outer_; }

bool FeatureCapture::wanted() { return innermost_features != nullptr; }

void FeatureCapture::note(const torch::Tensor& features) {
  if (innermost_features == nullptr) return;
  TORCH_INTERNAL_ASSERT(features.dim() == 3 || features.dim() == 4, "features ", features.sizes(),
                        " are neither tokens nor a map");
  innermost_features->features = features;
}

}  // namespace vitrine
