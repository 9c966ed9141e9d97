#include "vitrine/nn/reduced_attention.h"

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/nn/conv_embed.h"
#include "vitrine/nn/dot_product_attention.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {

void ReducedAttentionConfig::validate() const {
  check(dim > 0 && heads > 0 && dim % heads == 0,
        "reduced attention: dim {} is not a multiple of heads {}; choose heads that divide the "
        "width",
        dim, heads);
  check(reduction > 0 && reduction <= grid.rows && reduction <= grid.columns,
        "reduced attention: a reduction of {} does not fit a grid of {} x {}", reduction, grid.rows,
        grid.columns);
  check(reduction == 1 || grid.prefix == 0,
        "reduced attention: a class token cannot be reduced; choose a reduction of 1, not {}",
        reduction);
}

TokenGrid ReducedAttentionConfig::keys() const {
  return {
      .rows = grid.rows / reduction, .columns = grid.columns / reduction, .prefix = grid.prefix};
}

ReducedAttentionImpl::ReducedAttentionImpl(const ReducedAttentionConfig& c) : config(c) {
  config.validate();
  const auto C = config.dim, R = config.reduction;
  q = register_module("q", Linear(C, C));
  kv = register_module("kv", Linear(LinearConfig{.in = C, .out = 2 * C, .stacked = {C, C}}));
  proj = register_module("proj", Linear(C, C));
  if (R == 1) return;
  sr = register_module("sr", torch::nn::Conv2d(torch::nn::Conv2dOptions(C, C, R).stride(R)));
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({C})));
}

torch::Tensor ReducedAttentionImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), T = x.size(1), H = config.heads, D = config.dim / H;
  const auto source =
      sr ? layer_norm(as_tokens(sr(as_feature_map(x, config.grid))), norm) : x;  // (B, Tk, C)
  const auto queries = q(x).view({B, T, H, D}).transpose(1, 2);                  // (B, H, T, D)
  const auto keys_values =
      kv(source).view({B, source.size(1), 2, H, D}).permute({2, 0, 3, 1, 4}).unbind();
  const auto mixed = dot_product_attention(queries, keys_values[0], keys_values[1],
                                           {.queries = config.grid,
                                            .keys = config.keys(),
                                            .scale = 1 / std::sqrt(static_cast<double>(D)),
                                            .dropout = is_training() ? config.attention_dropout : 0,
                                            .products = q->precision()});
  return keyed_dropout(proj(mixed), config.dropout, is_training());  // (B, T, C)
}

}  // namespace vitrine
