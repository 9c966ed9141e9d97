#include "vitrine/inspect/explain/gradient_pass.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/inspect/rollout.h"
#include "vitrine/nn/feature_capture.h"

namespace vitrine {
namespace {

/// The forward pass, with attention weights in the graph if the layers have them.
GradientPass forward_pass(Model& model, const torch::Tensor& x) {
  GradientPass pass;
  try {
    AttentionCapture attention(/*in_graph=*/true);
    FeatureCapture features;
    pass.logits = model.forward(x);
    pass.features = features.features;
    if (attention.layers.empty()) {
      pass.no_attention = "it has no attention layers";
    } else if (!attention.readout.defined()) {
      pass.no_attention = "it does not say how its answer reads the tokens";
    } else {
      pass.layers = std::move(attention.layers);
      pass.readout = attention.readout;
      pass.readout_kind = attention.readout_kind;
    }
  } catch (const Error& e) {  // of a layer that never holds the weights
    pass.no_attention = e.what();
    FeatureCapture features;
    pass.logits = model.forward(x);
    pass.features = features.features;
  }
  return pass;
}

}  // namespace

GradientPass gradient_pass(Model& model, const torch::Tensor& x, std::optional<int64_t> target) {
  const torch::AutoGradMode with_gradients(true);
  // A leaf that needs gradients keeps the graph even where all parameters are frozen.
  auto pass = forward_pass(model, x.detach().clone().requires_grad_(true));
  const auto B = pass.logits.size(0), N = pass.logits.size(1);
  check(!target || (*target >= 0 && *target < N), "explain: class {} of {} classes",
        target.value_or(0), N);
  const auto classes =
      target ? torch::full({B}, *target, torch::kLong) : pass.logits.argmax(1).to(torch::kCPU);
  pass.targets.assign(classes.data_ptr<int64_t>(), classes.data_ptr<int64_t>() + B);

  std::vector<torch::Tensor> inputs;
  for (const auto& layer : pass.layers) inputs.push_back(layer.weights);
  const bool readout_has_gradient = pass.readout.defined() && pass.readout.requires_grad();
  if (readout_has_gradient) inputs.push_back(pass.readout);
  if (pass.features.defined()) inputs.push_back(pass.features);
  if (!inputs.empty()) {
    const auto answer = pass.logits.gather(1, classes.to(pass.logits.device()).unsqueeze(1)).sum();
    auto gradients = torch::autograd::grad({answer}, inputs, /*grad_outputs=*/{},
                                           /*retain_graph=*/false, /*create_graph=*/false,
                                           /*allow_unused=*/true);
    if (pass.features.defined()) {
      pass.feature_gradient = gradients.back();
      gradients.pop_back();
    }
    if (readout_has_gradient) {
      pass.readout_gradient = gradients.back();
      gradients.pop_back();
    }
    pass.gradients = std::move(gradients);
  }
  for (size_t i = 0; i < pass.layers.size(); ++i)
    check(pass.gradients[i].defined(),
          "explain: the answer of {} does not depend on the attention weights that layer {} "
          "recorded; a layer must use the weights that it records while a capture is in the graph",
          model.name(), i + 1);
  for (auto& layer : pass.layers) layer.weights = layer.weights.detach();
  pass.logits = pass.logits.detach();
  if (pass.readout.defined()) pass.readout = pass.readout.detach();
  if (pass.features.defined()) pass.features = pass.features.detach();
  return pass;
}

torch::Tensor relevance_readout(const GradientPass& pass) {
  return pass.readout_gradient.defined() ? (pass.readout_gradient * pass.readout).clamp_min(0)
                                         : pass.readout;
}

torch::Tensor grad_cam(const torch::Tensor& features, const torch::Tensor& gradient,
                       const TokenGrid& grid) {
  check(features.sizes() == gradient.sizes(), "grad_cam: features {} and gradients {} differ",
        fmt::join(features.sizes(), "x"), fmt::join(gradient.sizes(), "x"));
  if (features.dim() == 4) {
    const auto weights = gradient.mean({2, 3}, /*keepdim=*/true);  // (B, C, 1, 1)
    return (weights * features).sum(1).clamp_min(0);
  }
  check(features.dim() == 3 && features.size(1) == grid.tokens(),
        "grad_cam: features {} do not lie on a grid of {} tokens", fmt::join(features.sizes(), "x"),
        grid.tokens());
  const auto cells = grid.rows * grid.columns;
  const auto on_image = [&](const torch::Tensor& t) { return t.narrow(1, grid.prefix, cells); };
  const auto weights = on_image(gradient).mean(1, /*keepdim=*/true);    // (B, 1, C)
  const auto sum = (weights * on_image(features)).sum(2).clamp_min(0);  // (B, cells)
  return sum.view({sum.size(0), grid.rows, grid.columns});
}

std::vector<torch::Tensor> lens_logits(Model& model, const torch::Tensor& x) {
  const torch::NoGradGuard no_grad;
  const auto depth = static_cast<int64_t>(model.blocks_in_order().size());
  std::vector<torch::Tensor> result;
  for (int64_t count = 0; depth > 0 && count <= depth; ++count) {
    const BlockLimit limit(count);
    result.push_back(model.forward(x));
    if (limit.blocks() != depth) return {};
  }
  return result;
}

}  // namespace vitrine
