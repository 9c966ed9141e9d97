#pragma once

#include <torch/torch.h>

#include "vitrine/nn/token_grid.h"

namespace vitrine {

// Between tokens and feature maps. A map that is made of tokens lies in memory as they do, channels
// last, and so does what a convolution makes of it: neither way copies.

/// The tokens of a grid, without its prefix, as a feature map:
/// (B, rows * columns, C) -> (B, C, rows, columns).
torch::Tensor as_feature_map(const torch::Tensor& tokens, const TokenGrid& grid);
/// One token per position of a feature map, row by row: (B, C, H, W) -> (B, H * W, C).
torch::Tensor as_tokens(const torch::Tensor& map);

struct ConvEmbedConfig {
  int64_t channels = 3;
  int64_t dim = 64;
  int64_t kernel = 4;
  int64_t stride = 4;
  int64_t padding = 0;
  double norm_eps = 1e-5;

  /// The side of the grid of tokens that a map of this side becomes; 0 if the kernel does not fit.
  int64_t side(int64_t map) const {
    return map + 2 * padding < kernel ? 0 : (map + 2 * padding - kernel) / stride + 1;
  }
};

/// A convolution with a stride, then LayerNorm over the channels of each position; patches if
/// kernel and stride are equal: (B, channels, S, S) -> (B, side(S)^2, dim).
class ConvEmbedImpl : public torch::nn::Module {
 public:
  explicit ConvEmbedImpl(const ConvEmbedConfig& c);
  torch::Tensor forward(const torch::Tensor& map);

  const ConvEmbedConfig config;
  torch::nn::Conv2d proj{nullptr};
  torch::nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(ConvEmbed);

}  // namespace vitrine
