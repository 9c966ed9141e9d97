#include "vitrine/nn/sparse_block.h"

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/nn/sparse_step.h"
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
  qkv =
      register_module("qkv", Linear(LinearConfig{.in = C, .out = 2 * K + C, .stacked = {K, K, C}}));
  proj = register_module("proj", Linear(C, C));
}

std::array<torch::Tensor, 3> SparseAttentionImpl::project(const torch::Tensor& x) {
  const auto H = config.heads(), K = config.key_width;
  const auto parts = qkv(x).split_with_sizes({K, K, config.dim}, -1);  // of (..., 2 K + C)
  const auto heads = [&](const torch::Tensor& part) {
    return part.unflatten(-1, {H, part.size(-1) / H});
  };
  return {heads(parts[0]), heads(parts[1]), heads(parts[2])};
}

torch::Tensor SparseAttentionImpl::forward(const torch::Tensor& x) {
  const auto [q, k, v] = project(x);  // (B, T, H, width)
  std::vector<torch::Tensor> mixed;
  for (const auto& group : config.groups()) {
    const auto heads = [&](const torch::Tensor& t) {
      return t.narrow(2, group.first, group.count);
    };
    mixed.push_back(sparse_attention(heads(q), heads(k), heads(v), group.pattern));
  }
  return proj(mixed.size() == 1 ? mixed[0] : torch::cat(mixed, -1));
}

std::unique_ptr<BlockCache> SparseAttentionImpl::make_cache(int64_t batch) const {
  auto cache = std::make_unique<SparseKvCache>();
  const auto H = config.heads();
  for (const auto& group : config.groups()) {
    const auto plan = kv_slot_plan(group.pattern, config.tokens);
    const auto slots = [&](int64_t width) {
      return torch::empty({batch, group.count, plan->slots(), width / H}, qkv->weight.options());
    };
    cache->kv_cache.push_back(
        {group.first, group.count, plan, slots(config.key_width), slots(config.dim)});
  }
  return cache;
}

int64_t SparseAttentionImpl::next_position(BlockCache& cache) const {
  const auto position = cache.as<SparseKvCache>().position++;
  check(position < config.tokens, "sparse attention: the sequence has only {} tokens",
        config.tokens);
  return position;
}

torch::Tensor SparseAttentionImpl::step(const torch::Tensor& x, BlockCache& cache) {
  const auto position = next_position(cache);
  const auto [q, k, v] = project(x);  // (B, H, width)
  const auto head_width = config.key_width / config.heads();
  const double scale = std::sqrt(static_cast<double>(head_width));
  std::vector<torch::Tensor> mixed;
  for (auto& heads : cache.as<SparseKvCache>().kv_cache) {
    const auto own = [&](const torch::Tensor& t) { return t.narrow(1, heads.first, heads.count); };
    const auto slot = heads.plan->slot(position);
    heads.keys.select(2, slot) = own(k);
    heads.values.select(2, slot) = own(v);
    const auto& visible = heads.plan->visible_slots(position);
    if (visible.numel() == 0) {
      mixed.push_back(torch::zeros_like(own(v)));
      continue;
    }
    const auto keys = heads.keys.index_select(2, visible);             // (B, count, visible, width)
    const auto values = heads.values.index_select(2, visible);         // (B, count, visible, width)
    const auto scores = (keys * own(q).unsqueeze(2)).sum(-1) / scale;  // (B, count, visible)
    mixed.push_back((scores.softmax(-1).unsqueeze(-1) * values).sum(2));
  }
  return proj(torch::cat(mixed, 1).flatten(1));  // (B, C)
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

template <typename Attend>
torch::Tensor SparseBlockImpl::around(const torch::Tensor& x, const Attend& attend) {
  const auto drop = [&](const torch::Tensor& branch) {
    return keyed_dropout(branch, config.dropout, is_training());
  };
  const auto a = drop(attend(layer_norm(x, norm1)));
  const auto mixed = x + a;
  return mixed + drop(mlp(layer_norm(mixed, norm2)));
}

torch::Tensor SparseBlockImpl::forward(const torch::Tensor& x) {
  return around(x, [&](const torch::Tensor& tokens) { return attn(tokens); });
}

std::unique_ptr<BlockCache> SparseBlockImpl::make_cache(int64_t batch) const {
  return attn->make_cache(batch);
}

torch::Tensor SparseBlockImpl::step(const torch::Tensor& x, BlockCache& cache) {
  if (has_packed_step(*this, x))
    return packed_sparse_step(*this, x, cache.as<SparseKvCache>(), attn->next_position(cache));
  return around(x, [&](const torch::Tensor& token) { return attn->step(token, cache); });
}

}  // namespace vitrine
