#include "vitrine/nn/attention.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/attention.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {

void AttentionConfig::validate() const {
  check(dim > 0 && heads > 0, "attention: dim {} and heads {} must be positive", dim, heads);
  check(dim % heads == 0,
        "attention: dim {} is not a multiple of heads {}; choose heads that divide the width", dim,
        heads);
}

AttentionImpl::AttentionImpl(const AttentionConfig& c) : config(c) {
  config.validate();
  qkv = register_module(
      "qkv", torch::nn::Linear(
                 torch::nn::LinearOptions(config.dim, 3 * config.dim).bias(config.qkv_bias)));
  proj = register_module("proj", torch::nn::Linear(config.dim, config.dim));
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), T = x.size(1), C = x.size(2);
  const auto H = config.heads, D = C / H;
  const auto packed = qkv(x).view({B, T, 3, H, D});
  if (auto* capture = AttentionCapture::current())
    capture->layers.push_back(attention_weights(packed));  // (B, H, T, T)
  const auto mixed = packed_attention(packed, is_training() ? config.attention_dropout : 0);
  return keyed_dropout(proj(mixed), config.dropout, is_training());  // (B, T, C)
}

}  // namespace vitrine
