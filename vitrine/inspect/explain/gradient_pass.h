#pragma once

#include <torch/types.h>

#include <optional>
#include <string>
#include <vector>

#include "vitrine/models/model.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {

/// One forward pass, and the gradients of the logit of one class with respect to what lies between.
/// All tensors are detached.
struct GradientPass {
  torch::Tensor logits;                  // (B, N)
  std::vector<int64_t> targets;          // the class of each image
  std::vector<AttentionRecord> layers;   // empty: no attention weights
  std::string no_attention;              // why, if they are empty
  std::vector<torch::Tensor> gradients;  // like the weights of each layer
  Readout readout_kind = Readout::Token;
  torch::Tensor readout;           // (B, T)
  torch::Tensor readout_gradient;  // (B, T); undefined for Readout::Token
  torch::Tensor features;          // (B, T, C) or (B, C, H, W); undefined: not noted
  torch::Tensor feature_gradient;  // like the features
};

/// Explains class `target` of the images `x`, by default the most likely class of each. The model
/// is in evaluation mode.
GradientPass gradient_pass(Model& model, const torch::Tensor& x, std::optional<int64_t> target);

/// What `attention_relevance` weighs the last layer's tokens by: the readout; where it averages
/// tokens it counts as one more attention layer, (gradient * readout)+.
torch::Tensor relevance_readout(const GradientPass& pass);

/// Grad-CAM: Selvaraju et al., "Grad-CAM: Visual Explanations from Deep Networks via Gradient-based
/// Localization" (2017). The channels are weighed by the mean of the gradient over the image, and
/// of their sum the positive part is kept. Feature maps (B, C, H, W), or tokens (B, T, C) on
/// `grid`: (B, rows, columns).
torch::Tensor grad_cam(const torch::Tensor& features, const torch::Tensor& gradient,
                       const TokenGrid& grid = {});

/// What every depth would answer (logit lens): the head applied to the residual stream behind block
/// 0 (the embedding), 1, ..., the last, (B, N) each. Empty for models whose blocks do not run one
/// after the other.
std::vector<torch::Tensor> lens_logits(Model& model, const torch::Tensor& x);

}  // namespace vitrine
