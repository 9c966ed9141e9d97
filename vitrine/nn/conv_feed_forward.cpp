#include "vitrine/nn/conv_feed_forward.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/conv_embed.h"
#include "vitrine/ops/activation.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {

ConvFeedForwardImpl::ConvFeedForwardImpl(const ConvFeedForwardConfig& c) : config(c) {
  check(config.grid.prefix == 0,
        "conv_feed_forward: a class token has no neighbours; the grid has a prefix of {}",
        config.grid.prefix);
  fc1 = register_module("fc1", Linear(config.dim, config.hidden));
  dwconv = register_module(
      "dwconv", torch::nn::Conv2d(torch::nn::Conv2dOptions(config.hidden, config.hidden, 3)
                                      .padding(1)
                                      .groups(config.hidden)));
  fc2 = register_module("fc2", Linear(config.hidden, config.dim));
}

torch::Tensor ConvFeedForwardImpl::forward(const torch::Tensor& x) {
  const auto map = dwconv(as_feature_map(fc1(x), config.grid));  // (B, hidden, rows, columns)
  const auto hidden = keyed_dropout(activate(as_tokens(map), Activation::Gelu), config.dropout,
                                    is_training());                  // (B, T, hidden)
  return keyed_dropout(fc2(hidden), config.dropout, is_training());  // (B, T, C)
}

}  // namespace vitrine
