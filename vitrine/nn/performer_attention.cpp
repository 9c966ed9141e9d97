#include "vitrine/nn/performer_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

constexpr int64_t kCausalChunk = 64;

/// w x' - |x'|^2 / 2, the logarithms of x's features: (B, H, T, D) -> (B, H, T, M).
torch::Tensor log_features(const torch::Tensor& x, const torch::Tensor& features) {
  const auto scaled = x / std::pow(x.size(-1), 0.25);
  return scaled.matmul(features.t()) - 0.5 * scaled.square().sum(-1, /*keepdim=*/true);
}

/// The largest over the tokens; a constant, for it cancels in the quotient.
torch::Tensor token_max(const torch::Tensor& logs) {
  return logs.detach().amax(-2, /*keepdim=*/true);  // (B, H, 1, M)
}

/// The queries' features, to be multiplied by keys' features that were divided by exp(`top`).
torch::Tensor query_features(const torch::Tensor& logs, const torch::Tensor& top) {
  const auto raised = logs + top;
  return (raised - raised.detach().amax(-1, /*keepdim=*/true)).exp();  // (B, H, T, M)
}

torch::Tensor bidirectional_attention(const torch::Tensor& q_logs, const torch::Tensor& k_logs,
                                      const torch::Tensor& v) {
  const auto top = token_max(k_logs);
  const auto q = query_features(q_logs, top), k = (k_logs - top).exp();  // (B, H, T, M)
  const auto total = k.sum(-2).unsqueeze(-1);                            // (B, H, M, 1)
  const auto content = k.transpose(-2, -1).matmul(v);                    // (B, H, M, D)
  return q.matmul(content) / q.matmul(total);
}

/// The sums over the tokens so far; features are divided by exp(`top`).
struct FeatureSums : BlockCache {
  torch::Tensor top, total, content;  // (B, H, 1, M), (B, H, M, 1), (B, H, M, D)

  int64_t bytes() const override {
    if (!top.defined()) return 0;
    return static_cast<int64_t>(top.nbytes() + total.nbytes() + content.nbytes());
  }
};

/// The next tokens: pairs among them one by one, all before them through the sums, which then take
/// them in.
torch::Tensor causal_chunk(const torch::Tensor& q_logs, const torch::Tensor& k_logs,
                           const torch::Tensor& v, FeatureSums& sums) {
  auto &top = sums.top, &total = sums.total, &content = sums.content;
  auto new_top = token_max(k_logs);
  if (top.defined()) {
    new_top = torch::maximum(new_top, top);
    const auto shrink = (top - new_top).exp().transpose(-2, -1);  // (B, H, M, 1)
    total = total * shrink;
    content = content * shrink;
  }
  top = new_top;
  const auto q = query_features(q_logs, top), k = (k_logs - top).exp();
  const auto near = q.matmul(k.transpose(-2, -1)).tril();  // (B, H, size, size)
  auto above = near.matmul(v), below = near.sum(-1, /*keepdim=*/true);
  if (total.defined()) {
    above = above + q.matmul(content);
    below = below + q.matmul(total);
  }
  // 0 / 0 is possible here: a later key of the chunk may be greater than all of float's range.
  const auto mixed = above / below.clamp_min(std::numeric_limits<float>::min());
  const auto sum = k.sum(-2).unsqueeze(-1), content_sum = k.transpose(-2, -1).matmul(v);
  total = total.defined() ? total + sum : sum;
  content = content.defined() ? content + content_sum : content_sum;
  return mixed;
}

torch::Tensor causal_attention(const torch::Tensor& q_logs, const torch::Tensor& k_logs,
                               const torch::Tensor& v) {
  FeatureSums sums;
  std::vector<torch::Tensor> mixed;
  for (int64_t first = 0; first < v.size(-2); first += kCausalChunk) {
    const auto size = std::min(kCausalChunk, v.size(-2) - first);
    const auto part = [&](const torch::Tensor& t) { return t.narrow(-2, first, size); };
    mixed.push_back(causal_chunk(part(q_logs), part(k_logs), part(v), sums));
  }
  return torch::cat(mixed, -2);
}

}  // namespace

torch::Tensor orthogonal_features(int64_t count, int64_t width) {
  std::vector<torch::Tensor> blocks;
  for (int64_t made = 0; made < count; made += width) {
    const auto [q, r] = torch::linalg_qr(torch::randn({width, width}));
    // The signs make every rotation equally likely.
    blocks.push_back((q * r.diagonal().sign()).narrow(0, 0, std::min(width, count - made)));
  }
  const auto lengths = torch::randn({count, width}).norm(2, -1, /*keepdim=*/true);
  return torch::cat(blocks) * lengths;
}

torch::Tensor performer_attention(const torch::Tensor& q, const torch::Tensor& k,
                                  const torch::Tensor& v, const torch::Tensor& features,
                                  bool causal) {
  const auto q_logs = log_features(q, features), k_logs = log_features(k, features);
  return causal ? causal_attention(q_logs, k_logs, v) : bidirectional_attention(q_logs, k_logs, v);
}

void PerformerAttentionConfig::validate() const {
  attention.validate();
  attention.refuse_relative("performer");
  check(attention.attention_dropout == 0,
        "performer: attention_dropout {} has no weights to drop; set it to 0",
        attention.attention_dropout);
  check(features > 0, "performer: features {} must be positive; set attention.features", features);
}

PerformerAttentionImpl::PerformerAttentionImpl(const PerformerAttentionConfig& c)
    : SelfAttentionImpl(c.attention) {
  c.validate();
  features =
      register_buffer("features", orthogonal_features(c.features, config.dim / config.heads));
}

torch::Tensor PerformerAttentionImpl::forward(const torch::Tensor& x) {
  const auto parts = project(x, "performer");
  return merge(performer_attention(parts[0], parts[1], parts[2], features, config.causal));
}

std::unique_ptr<BlockCache> PerformerAttentionImpl::make_cache(int64_t) const {
  check(config.causal, "performer: tokens attend to later ones, so it cannot generate");
  return std::make_unique<FeatureSums>();
}

torch::Tensor PerformerAttentionImpl::step(const torch::Tensor& x, BlockCache& cache) {
  const auto parts = project(x.unsqueeze(1), "performer");  // (B, H, 1, D) each
  const auto q_logs = log_features(parts[0], features), k_logs = log_features(parts[1], features);
  return merge(causal_chunk(q_logs, k_logs, parts[2], cache.as<FeatureSums>()))
      .squeeze(1);  // (B, C)
}

}  // namespace vitrine
