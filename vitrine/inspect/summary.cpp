#include "vitrine/inspect/summary.h"

#include <torch/torch.h>

#include "vitrine/inspect/watch.h"
#include "vitrine/models/model.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/shapes_only.h"

namespace vitrine {

ModelSummary summarize(Model& model) {
  ModelSummary summary;
  summary.layers = watch_forward(model);
  for (const auto& p : model.parameters()) {
    summary.parameters += p.numel();
    if (p.requires_grad()) summary.trainable += p.numel();
    summary.parameter_bytes += static_cast<int64_t>(p.nbytes());
  }
  const auto input = model.example_input(1);
  summary.input = input.sizes().vec();
  summary.input_bytes = static_cast<int64_t>(input.nbytes());
  int64_t outputs = 0;
  for (const auto& layer : summary.layers) {
    summary.multiply_adds += layer.multiply_adds;
    if (layer.kind != "Parameter") outputs += c10::multiply_integers(layer.output);
  }
  summary.pass_bytes = 2 * outputs * static_cast<int64_t>(sizeof(float));
  return summary;
}

ModelSummary summarize(const ModelChoice& choice) {
  const ShapesOnly shapes_only;
  return summarize(*choice.build());
}

}  // namespace vitrine
