#include "vitrine/nn/conv_attention.h"

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/nn/conv_embed.h"
#include "vitrine/nn/dot_product_attention.h"
#include "vitrine/nn/recompute.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {

void ConvAttentionConfig::validate() const {
  check(dim > 0 && heads > 0 && dim % heads == 0,
        "conv attention: dim {} is not a multiple of heads {}; choose heads that divide the width",
        dim, heads);
  check(kv_stride > 0, "conv attention: kv_stride {} must be positive", kv_stride);
}

TokenGrid ConvAttentionConfig::keys() const {
  return {.rows = (grid.rows - 1) / kv_stride + 1,
          .columns = (grid.columns - 1) / kv_stride + 1,
          .prefix = grid.prefix};
}

ConvProjectionImpl::ConvProjectionImpl(int64_t dim, int64_t stride) {
  conv = register_module(
      "conv",
      torch::nn::Conv2d(
          torch::nn::Conv2dOptions(dim, dim, 3).stride(stride).padding(1).groups(dim).bias(false)));
  bn = register_module("bn", torch::nn::BatchNorm2d(dim));
}

torch::Tensor ConvProjectionImpl::forward(const torch::Tensor& map) {
  const auto convolved = conv(map);
  // The running averages take every batch once.
  const bool counted_already = bn->is_training() && is_recomputing();
  return as_tokens(counted_already
                       ? torch::batch_norm(convolved, bn->weight, bn->bias, /*running_mean=*/{},
                                           /*running_var=*/{}, /*training=*/true, /*momentum=*/0,
                                           bn->options.eps(), /*cudnn_enabled=*/false)
                       : bn(convolved));
}

ConvAttentionImpl::ConvAttentionImpl(const ConvAttentionConfig& c) : config(c) {
  config.validate();
  const auto C = config.dim;
  conv_proj_q = register_module("conv_proj_q", ConvProjection(C, 1));
  conv_proj_k = register_module("conv_proj_k", ConvProjection(C, config.kv_stride));
  conv_proj_v = register_module("conv_proj_v", ConvProjection(C, config.kv_stride));
  proj_q = register_module("proj_q", Linear(C, C));
  proj_k = register_module("proj_k", Linear(C, C));
  proj_v = register_module("proj_v", Linear(C, C));
  proj = register_module("proj", Linear(C, C));
}

torch::Tensor ConvAttentionImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), T = x.size(1), P = config.grid.prefix;
  const auto H = config.heads, D = config.dim / H;
  const auto map = as_feature_map(x.narrow(1, P, T - P), config.grid);  // (B, C, rows, columns)
  const auto projected = [&](ConvProjection& conv_proj, Linear& linear) {
    auto tokens = conv_proj(map);
    if (P > 0) tokens = torch::cat({x.narrow(1, 0, P), tokens}, 1);
    return linear(tokens).view({B, tokens.size(1), H, D}).transpose(1, 2);  // (B, H, T or Tk, D)
  };
  const auto q = projected(conv_proj_q, proj_q), k = projected(conv_proj_k, proj_k),
             v = projected(conv_proj_v, proj_v);
  const auto mixed = dot_product_attention(q, k, v,
                                           {.queries = config.grid,
                                            .keys = config.keys(),
                                            .scale = 1 / std::sqrt(static_cast<double>(config.dim)),
                                            .dropout = is_training() ? config.attention_dropout : 0,
                                            .products = proj_q->precision()});  // (B, T, C)
  return keyed_dropout(proj(mixed), config.dropout, is_training());
}

}  // namespace vitrine
