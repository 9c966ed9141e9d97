#include "vitrine/nn/conv_embed.h"

#include "vitrine/core/error.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {

torch::Tensor as_feature_map(const torch::Tensor& tokens, const TokenGrid& grid) {
  check(tokens.dim() == 3 && tokens.size(1) == grid.rows * grid.columns,
        "feature map: tokens {} do not fill a grid of {} x {}", fmt::join(tokens.sizes(), "x"),
        grid.rows, grid.columns);
  return tokens.transpose(1, 2).reshape(
      {tokens.size(0), tokens.size(2), grid.rows, grid.columns});  // (B, C, rows, columns)
}

torch::Tensor as_tokens(const torch::Tensor& map) {
  return map.permute({0, 2, 3, 1}).flatten(/*start_dim=*/1, /*end_dim=*/2);  // (B, H * W, C)
}

ConvEmbedImpl::ConvEmbedImpl(const ConvEmbedConfig& c) : config(c) {
  proj = register_module(
      "proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(config.channels, config.dim, config.kernel)
                                    .stride(config.stride)
                                    .padding(config.padding)));
  norm = register_module(
      "norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.dim}).eps(config.norm_eps)));
}

torch::Tensor ConvEmbedImpl::forward(const torch::Tensor& map) {
  return layer_norm(as_tokens(proj(map)), norm);  // (B, T, C)
}

}  // namespace vitrine
