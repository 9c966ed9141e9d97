#include "vitrine/serve/engine/layer_weights.h"

#include <torch/torch.h>

#include "vitrine/nn/attention_capture.h"

namespace vitrine::serve {

std::vector<LayerWeights> captured_weights(const std::function<void()>& forward) {
  const torch::InferenceMode no_gradients;
  AttentionCapture capture;
  forward();
  std::vector<LayerWeights> layers;
  for (const auto& layer : capture.layers) {
    const auto weights = layer.weights[0].to(torch::kFloat).contiguous();  // (H, Tq, Tk)
    const auto* first = weights.data_ptr<float>();
    layers.push_back({.heads = weights.size(0),
                      .queries = weights.size(1),
                      .keys = weights.size(2),
                      .values = {first, first + weights.numel()}});
  }
  return layers;
}

}  // namespace vitrine::serve
