#pragma once

#include <torch/torch.h>

#include "vitrine/core/activation.h"
#include "vitrine/core/fields.h"
#include "vitrine/nn/linear.h"

namespace vitrine {

const Choices<Activation>& activation_names();

struct FeedForwardConfig {
  int64_t dim = 64;
  int64_t hidden = 256;
  Activation activation = Activation::Gelu;
  double dropout = 0;  // after each of the two layers
  bool bias = true;

  void validate() const;
};

/// Linear, activation, Linear: (B, T, C) -> (B, T, C).
class FeedForwardImpl : public torch::nn::Module {
 public:
  explicit FeedForwardImpl(const FeedForwardConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const FeedForwardConfig config;
  Linear fc1{nullptr}, fc2{nullptr};

 private:
  /// All but the last dropout.
  torch::Tensor hidden_layers(const torch::Tensor& x);
};
TORCH_MODULE(FeedForward);

}  // namespace vitrine
