#include "vitrine/nn/reformer_attention.h"

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {
namespace {

constexpr double kHiddenPenalty = 1e9;  // finite, so that no row of scores is without a maximum

/// The tokens of every round in the order of their buckets, cut into `n` chunks of `size`.
struct Chunks {
  int64_t T, n, size;
  torch::Tensor order, rank;  // (B, H, R, T): which token stands where, and where each token stands

  Chunks(const torch::Tensor& buckets, int64_t chunk)
      : T(buckets.size(-1)), n((T + chunk - 1) / chunk), size(chunk) {
    order = (buckets * T + torch::arange(T, buckets.options())).argsort();
    rank = order.argsort();
  }

  /// Per token, (B, H, R, T) or with D: in chunks, (B, H, R, n, size) or with D. Places beyond the
  /// last token hold `filler`.
  torch::Tensor cut(const torch::Tensor& per_token, double filler = 0) const {
    const bool wide = per_token.dim() == 5;
    auto sorted = wide ? per_token.gather(3, order.unsqueeze(-1).expand_as(per_token))
                       : per_token.gather(3, order);
    const int64_t missing = n * size - T;
    sorted = torch::constant_pad_nd(
        sorted, wide ? std::vector<int64_t>{0, 0, 0, missing} : std::vector<int64_t>{0, missing},
        filler);
    auto shape = sorted.sizes().vec();
    shape[3] = size;
    shape.insert(shape.begin() + 3, n);
    return sorted.reshape(shape);
  }

  /// Each chunk after the one before it: (B, H, R, n, size, ...) -> (B, H, R, n, 2 size, ...).
  torch::Tensor seen(const torch::Tensor& chunks, double filler = 0) const {
    const auto none = torch::full_like(chunks.narrow(3, 0, 1), filler);
    return torch::cat({torch::cat({none, chunks.narrow(3, 0, n - 1)}, 3), chunks}, 4);
  }

  /// Back to the tokens' own order: (B, H, R, n, size, D) -> (B, H, R, T, D).
  torch::Tensor restore(const torch::Tensor& chunks) const {
    const auto sorted = chunks.flatten(3, 4);  // (B, H, R, n * size, D)
    auto index = rank.unsqueeze(-1);
    return sorted.gather(3, index.expand({-1, -1, -1, -1, sorted.size(4)}));
  }

  /// In how many rounds a token sees each one that it sees here: (B, H, R, n, size, 2 size).
  torch::Tensor meetings() const {
    const auto chunk_of = rank.div(size, /*rounding_mode=*/"floor");
    torch::Tensor count;
    for (const auto& in_round : chunk_of.split(1, /*dim=*/2)) {
      const auto places = cut(in_round.expand_as(chunk_of));
      const auto behind = places.unsqueeze(-1) - seen(places).unsqueeze(-2);
      const auto meets = (behind.eq(0) | behind.eq(1)).to(torch::kLong);
      count = count.defined() ? count + meets : meets;
    }
    return count.clamp_min(1);  // the fillers meet nobody
  }
};

}  // namespace

torch::Tensor lsh_buckets(const torch::Tensor& qk, const torch::Tensor& rotations) {
  const auto turned = qk.detach().unsqueeze(2).matmul(rotations);  // (B, H, R, T, buckets / 2)
  return torch::cat({turned, -turned}, -1).argmax(-1);
}

torch::Tensor lsh_rotations(int64_t rounds, int64_t width, int64_t tokens, int64_t bucket) {
  const auto pairs_of_buckets = (tokens + 2 * bucket - 1) / (2 * bucket);
  return torch::randn({rounds, width, pairs_of_buckets});
}

torch::Tensor reformer_attention(const torch::Tensor& qk, const torch::Tensor& v,
                                 const torch::Tensor& rotations, int64_t chunk, double dropout) {
  const Chunks chunks(lsh_buckets(qk, rotations), chunk);
  const auto in_rounds = [&](const torch::Tensor& t) {
    return t.unsqueeze(2).expand({-1, -1, rotations.size(0), -1, -1});  // (B, H, R, T, D)
  };
  const auto unit = qk / qk.norm(2, -1, /*keepdim=*/true).clamp_min(1e-12);
  const auto q = chunks.cut(in_rounds(qk));                             // (B, H, R, n, size, D)
  const auto k = chunks.seen(chunks.cut(in_rounds(unit)));              // (B, H, R, n, 2 size, D)
  const auto values = chunks.seen(chunks.cut(in_rounds(v)));            // (B, H, R, n, 2 size, D)
  auto scores = q.matmul(k.transpose(-2, -1)) / std::sqrt(q.size(-1));  // (.., size, 2 size)
  scores = scores - chunks.meetings().to(scores.scalar_type()).log();

  const auto nobody = static_cast<double>(chunks.T);
  const auto places = torch::arange(chunks.T, chunks.order.options()).expand_as(chunks.order);
  const auto asks = chunks.cut(places, nobody);
  const auto answers = chunks.seen(asks, nobody).unsqueeze(-2);  // (B, H, R, n, 1, 2 size)
  const auto own = answers.eq(asks.unsqueeze(-1)), hidden = answers.eq(chunks.T);
  scores = scores - kSelfPenalty * own.to(scores.scalar_type()) -
           kHiddenPenalty * hidden.to(scores.scalar_type());

  const auto top = scores.detach().amax(-1, /*keepdim=*/true);  // (B, H, R, n, size, 1)
  const auto raised = (scores - top).exp(), total = raised.sum(-1, /*keepdim=*/true);
  const auto weights = keyed_dropout(raised / total, dropout, dropout > 0);
  const auto mixed = chunks.restore(weights.matmul(values));             // (B, H, R, T, D)
  return (mixed * chunks.restore(top + total.log()).softmax(2)).sum(2);  // (B, H, T, D)
}

void ReformerAttentionConfig::validate() const {
  attention.validate();
  attention.refuse_relative("reformer");
  check(!attention.causal,
        "reformer: later tokens decide where its chunks begin, so it cannot be causal; choose "
        "attention.kind softmax or performer");
  check(tokens > 0, "reformer: the number of tokens must be known, got {}", tokens);
  check(bucket > 0 && rounds > 0,
        "reformer: bucket {} and rounds {} must be positive; set attention.bucket and "
        "attention.rounds",
        bucket, rounds);
}

ReformerAttentionImpl::ReformerAttentionImpl(const ReformerAttentionConfig& c)
    : SelfAttentionImpl(c.attention, /*parts=*/2), bucket(c.bucket) {
  c.validate();
  rotations = register_buffer(
      "rotations", lsh_rotations(c.rounds, config.dim / config.heads, c.tokens, c.bucket));
}

torch::Tensor ReformerAttentionImpl::forward(const torch::Tensor& x) {
  const auto parts = project(x, "reformer");
  return merge(reformer_attention(parts[0], parts[1], rotations, bucket,
                                  is_training() ? config.attention_dropout : 0));
}

}  // namespace vitrine
