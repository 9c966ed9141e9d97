#include "vitrine/nn/sparse_block.h"

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/nn/kv_slot_plan.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/layer_norm.h"
#include "vitrine/ops/sparse_attention.h"

namespace vitrine {
namespace {

/// Neighbouring heads that follow the same pattern, and the keys and values that they hold.
struct HeadCache {
  int64_t first, count;
  std::shared_ptr<const KvSlotPlan> plan;
  torch::Tensor keys, values;  // (slots, B, count, width)
};

/// What a layer holds of the tokens so far.
struct SparseKvCache : BlockCache {
  std::vector<HeadCache> kv_cache;
  int64_t position = 0;  // of the next token

  int64_t bytes() const override {
    size_t bytes = 0;
    for (const auto& heads : kv_cache) bytes += heads.keys.nbytes() + heads.values.nbytes();
    return static_cast<int64_t>(bytes);
  }
};

}  // namespace

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
  const auto packed = qkv(x);  // (..., 2 K + C)
  const auto part = [&](int64_t first, int64_t width) {
    return packed.narrow(-1, first, width).unflatten(-1, {H, width / H});
  };
  return {part(0, K), part(K, K), part(2 * K, config.dim)};
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
      return torch::empty({plan->slots(), batch, group.count, width / H}, qkv->weight.options());
    };
    cache->kv_cache.push_back(
        {group.first, group.count, plan, slots(config.key_width), slots(config.dim)});
  }
  return cache;
}

torch::Tensor SparseAttentionImpl::step(const torch::Tensor& x, BlockCache& cache) {
  auto& kept = cache.as<SparseKvCache>();
  const auto position = kept.position++;
  check(position < config.tokens, "sparse attention: the sequence has only {} tokens",
        config.tokens);
  const auto [q, k, v] = project(x);  // (B, H, width)
  const auto head_width = config.key_width / config.heads();
  const double scale = std::sqrt(static_cast<double>(head_width));
  std::vector<torch::Tensor> mixed;
  for (auto& heads : kept.kv_cache) {
    const auto own = [&](const torch::Tensor& t) { return t.narrow(1, heads.first, heads.count); };
    const auto slot = heads.plan->slot(position);
    heads.keys[slot] = own(k);
    heads.values[slot] = own(v);
    const auto& visible = heads.plan->visible_slots(position);
    if (visible.numel() == 0) {
      mixed.push_back(torch::zeros_like(own(v)));
      continue;
    }
    const auto keys = heads.keys.index_select(0, visible);      // (visible, B, count, width)
    const auto values = heads.values.index_select(0, visible);  // (visible, B, count, width)
    const auto scores = (keys * own(q)).sum(-1) / scale;        // (visible, B, count)
    mixed.push_back((scores.softmax(0).unsqueeze(-1) * values).sum(0));
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
  return around(x, [&](const torch::Tensor& token) { return attn->step(token, cache); });
}

}  // namespace vitrine
