#pragma once

#include <torch/torch.h>

#include "vitrine/nn/linear.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

struct ConvFeedForwardConfig {
  int64_t dim = 64;
  int64_t hidden = 256;
  TokenGrid grid{};    // where the tokens lie, without a prefix
  double dropout = 0;  // after each of the two Linear layers
};

/// Linear, 3 x 3 depth-wise convolution over the grid of tokens, GELU, Linear: the convolution's
/// padding of zeros tells the tokens where they lie (Wang et al., "PVT v2", 2022).
/// (B, T, C) -> (B, T, C).
class ConvFeedForwardImpl : public torch::nn::Module {
 public:
  explicit ConvFeedForwardImpl(const ConvFeedForwardConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const ConvFeedForwardConfig config;
  Linear fc1{nullptr}, fc2{nullptr};
  torch::nn::Conv2d dwconv{nullptr};
};
TORCH_MODULE(ConvFeedForward);

}  // namespace vitrine
