#include "vitrine/nn/self_attention.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {

void AttentionConfig::validate() const {
  check(dim > 0 && heads > 0, "attention: dim {} and heads {} must be positive", dim, heads);
  check(dim % heads == 0,
        "attention: dim {} is not a multiple of heads {}; choose heads that divide the width", dim,
        heads);
  check(max_relative_distance >= 0, "attention: max_relative_distance {} is negative",
        max_relative_distance);
}

void AttentionConfig::refuse_relative(std::string_view who) const {
  check(max_relative_distance == 0,
        "{}: relative positions need the scores of all pairs of tokens; choose other positions or "
        "attention.kind softmax",
        who);
}

SelfAttentionImpl::SelfAttentionImpl(const AttentionConfig& c, int64_t parts) : config(c) {
  config.validate();
  qkv = register_module("qkv",
                        Linear(LinearConfig{.in = config.dim,
                                            .out = parts * config.dim,
                                            .bias = config.qkv_bias,
                                            .stacked = std::vector<int64_t>(parts, config.dim)}));
  proj = register_module(
      "proj", Linear(LinearConfig{.in = config.dim, .out = config.dim, .bias = config.proj_bias}));
}

std::unique_ptr<BlockCache> SelfAttentionImpl::make_cache(int64_t) const {
  fail(
      "attention: this kind cannot generate token by token; choose attention.kind softmax or "
      "performer");
}

torch::Tensor SelfAttentionImpl::step(const torch::Tensor&, BlockCache&) {
  fail("attention: this kind cannot generate token by token");
}

std::vector<torch::Tensor> SelfAttentionImpl::project(const torch::Tensor& x,
                                                      std::string_view who) {
  check(x.dim() == 3 && x.size(2) == config.dim, "{}: input {} is not (B, T, {})", who,
        fmt::join(x.sizes(), "x"), config.dim);
  check(AttentionCapture::current() == nullptr,
        "{}: it never holds the weights of all pairs of tokens, so there are none to show; only "
        "attention.kind softmax has them",
        who);
  const auto B = x.size(0), T = x.size(1), H = config.heads, D = config.dim / H;
  return qkv(x).view({B, T, -1, H, D}).permute({2, 0, 3, 1, 4}).unbind();
}

torch::Tensor SelfAttentionImpl::merge(const torch::Tensor& mixed) {
  const auto tokens = mixed.transpose(1, 2).flatten(2);  // (B, T, C)
  return keyed_dropout(proj(tokens), config.dropout, is_training());
}

}  // namespace vitrine
