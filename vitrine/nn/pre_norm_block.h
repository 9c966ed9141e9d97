#pragma once

#include <torch/torch.h>

#include "vitrine/nn/block.h"
#include "vitrine/nn/feature_capture.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {

struct PreNormBlockConfig {
  int64_t dim = 64;
  double norm_eps = 1e-6;
  double drop_path = 0;
};

/// Attention and feed-forward of any kind, each with a norm before it and a residual:
/// h = x + attn(norm1(x)), then h + mlp(norm2(h)): (B, T, C) -> (B, T, C). Both are holders of
/// modules that map (B, T, C) to (B, T, C).
template <typename Attention, typename FeedForward>
class PreNormBlockImpl : public BlockImpl {
 public:
  PreNormBlockImpl(const PreNormBlockConfig& c, Attention attention, FeedForward feed_forward)
      : config(c) {
    const auto norm_options = torch::nn::LayerNormOptions({config.dim}).eps(config.norm_eps);
    norm1 = register_module("norm1", torch::nn::LayerNorm(norm_options));
    attn = register_module("attn", std::move(attention));
    norm2 = register_module("norm2", torch::nn::LayerNorm(norm_options));
    mlp = register_module("mlp", std::move(feed_forward));
  }

  torch::Tensor forward(const torch::Tensor& x) override {
    const auto normed = layer_norm(x, norm1);
    FeatureCapture::note(normed);
    const auto h = x + drop_path(attn(normed), config.drop_path, is_training());
    return h + drop_path(mlp(layer_norm(h, norm2)), config.drop_path, is_training());
  }

  const PreNormBlockConfig config;
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  Attention attn{nullptr};
  FeedForward mlp{nullptr};
};

}  // namespace vitrine
