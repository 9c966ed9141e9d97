#include "vitrine/nn/sparse_block.h"

#include "vitrine/core/error.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"
#include "vitrine/ops/sparse_attention.h"

namespace vitrine {

void SparseAttentionConfig::validate() const {
  const auto H = heads();
  check(dim > 0 && key_width > 0 && H > 0,
        "sparse attention: dim {}, key_width {} and heads {} must be positive", dim, key_width, H);
  check(dim % H == 0 && key_width % H == 0,
        "sparse attention: heads {} do not divide dim {} and key_width {}; choose heads that do", H,
        dim, key_width);
  for (const auto& pattern : patterns) pattern.validate();
}

std::vector<SparseAttentionConfig::Group> SparseAttentionConfig::groups() const {
  std::vector<Group> groups;
  for (int64_t head = 0; head < heads(); ++head)
    if (head > 0 && patterns[head] == patterns[head - 1])
      ++groups.back().count;
    else
      groups.push_back({head, 1, patterns[head]});
  return groups;
}

SparseAttentionImpl::SparseAttentionImpl(const SparseAttentionConfig& c) : config(c) {
  config.validate();
  const auto K = config.key_width, C = config.dim;
  qkv = register_module(
      "qkv", Linear(LinearConfig{.in = C, .out = 2 * K + C, .stacked = {K, K, C}}));
  proj = register_module("proj", Linear(C, C));
}

torch::Tensor SparseAttentionImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), T = x.size(1), H = config.heads(), K = config.key_width;
  const auto packed = qkv(x);  // (B, T, 2 K + C)
  const auto part = [&](int64_t first, int64_t width) {
    return packed.narrow(2, first, width).view({B, T, H, width / H});
  };
  const auto q = part(0, K), k = part(K, K), v = part(2 * K, config.dim);
  std::vector<torch::Tensor> mixed;
  for (const auto& group : config.groups()) {
    const auto heads = [&](const torch::Tensor& t) {
      return t.narrow(2, group.first, group.count);
    };
    mixed.push_back(sparse_attention(heads(q), heads(k), heads(v), group.pattern));
  }
  return proj(mixed.size() == 1 ? mixed[0] : torch::cat(mixed, -1));
}

SparseBlockImpl::SparseBlockImpl(const SparseBlockConfig& c) : config(c) {
  const auto dim = config.attention.dim;
  const auto norm_options = torch::nn::LayerNormOptions({dim});
  norm1 = register_module("norm1", torch::nn::LayerNorm(norm_options));
  attn = register_module("attn", SparseAttention(config.attention));
  norm2 = register_module("norm2", torch::nn::LayerNorm(norm_options));
  mlp = register_module(
      "mlp",
      FeedForward(FeedForwardConfig{
          .dim = dim, .hidden = config.hidden, .activation = Activation::QuickGelu, .dropout = 0}));
}

torch::Tensor SparseBlockImpl::forward(const torch::Tensor& x) {
  const auto drop = [&](const torch::Tensor& branch) {
    return keyed_dropout(branch, config.dropout, is_training());
  };
  const auto a = drop(attn(layer_norm(x, norm1)));
  const auto mixed = x + a;
  return mixed + drop(mlp(layer_norm(mixed, norm2)));
}

}  // namespace vitrine
