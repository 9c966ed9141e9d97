#include "vitrine/nn/attention.h"

#include <cmath>

#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/attention.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {
namespace {

/// The keys and values of all tokens so far.
class KvCache : public BlockCache {
 public:
  KvCache(torch::IntArrayRef shape, const torch::TensorOptions& options)
      : keys_(torch::empty(shape, options)), values_(torch::empty(shape, options)) {}

  /// Takes those of one more token, (B, H, D) each.
  void append(const torch::Tensor& key, const torch::Tensor& value) {
    if (tokens_ == keys_.size(2)) {  // twice the room
      keys_ = torch::cat({keys_, torch::empty_like(keys_)}, 2);
      values_ = torch::cat({values_, torch::empty_like(values_)}, 2);
    }
    keys_.select(2, tokens_).copy_(key);
    values_.select(2, tokens_).copy_(value);
    ++tokens_;
  }

  int64_t tokens() const { return tokens_; }
  torch::Tensor keys() const { return keys_.narrow(2, 0, tokens_); }      // (B, H, tokens, D)
  torch::Tensor values() const { return values_.narrow(2, 0, tokens_); }  // (B, H, tokens, D)
  int64_t bytes() const override { return static_cast<int64_t>(keys_.nbytes() + values_.nbytes()); }

 private:
  torch::Tensor keys_, values_;  // (B, H, room, D)
  int64_t tokens_ = 0;
};

}  // namespace

torch::Tensor recorded_attention(const torch::Tensor& packed, const TokenGrid& grid, double dropout,
                                 Precision products, const ScoreBias& bias) {
  if (auto* capture = AttentionCapture::current()) {
    const auto added = bias.whole(packed);
    const auto weights = attention_weights(packed, added);  // (B, H, T, T)
    capture->record(weights, grid, grid, added.defined() ? torch::Tensor() : packed);
    if (capture->in_graph()) return attend(weights, packed, dropout);
  }
  return bias.learned.defined() ? biased_attention(packed, bias.whole(packed), dropout)
                                : packed_attention(packed, dropout, products, bias.causal);
}

torch::Tensor ScoreBias::whole(const torch::Tensor& packed) const {
  if (!causal) return learned;
  const auto later = causal_bias(packed.size(1), packed.options());
  return learned.defined() ? learned + later : later;
}

AttentionImpl::AttentionImpl(const AttentionConfig& c) : SelfAttentionImpl(c) {
  if (config.max_relative_distance > 0)
    relative_bias = register_parameter(
        "relative_bias", torch::zeros({config.heads, 2 * config.max_relative_distance + 1}));
}

torch::Tensor AttentionImpl::distance_bias(const torch::Tensor& distance) const {
  const auto R = config.max_relative_distance;
  return relative_bias.index({torch::indexing::Slice(), distance.clamp(-R, R) + R});
}

ScoreBias AttentionImpl::score_bias(int64_t T) const {
  ScoreBias bias{.learned = {}, .causal = config.causal};
  if (relative_bias.defined()) {
    const auto place = torch::arange(T, relative_bias.options().dtype(torch::kLong));
    bias.learned = distance_bias(place.unsqueeze(0) - place.unsqueeze(1));  // (H, T, T)
  }
  return bias;
}

TokenGrid AttentionImpl::grid_of(int64_t T) const {
  return config.grid.tokens() == T ? config.grid : sequence_grid(T);
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), T = x.size(1), C = x.size(2);
  const auto H = config.heads, D = C / H;
  const auto packed = qkv(x).view({B, T, 3, H, D});
  const auto dropout = is_training() ? config.attention_dropout : 0;
  const auto mixed = recorded_attention(packed, grid_of(T), dropout, qkv->precision(),
                                        score_bias(T));              // (B, T, C)
  return keyed_dropout(proj(mixed), config.dropout, is_training());  // (B, T, C)
}

std::unique_ptr<BlockCache> AttentionImpl::make_cache(int64_t batch) const {
  constexpr int64_t kFirstTokens = 64;
  check(config.causal, "attention: tokens attend to later ones, so it cannot generate");
  const auto known = config.grid.tokens();
  const auto H = config.heads, T = known > 0 ? known : kFirstTokens;
  return std::make_unique<KvCache>(torch::IntArrayRef{batch, H, T, config.dim / H},
                                   qkv->weight.options());
}

torch::Tensor AttentionImpl::step(const torch::Tensor& x, BlockCache& cache) {
  const auto H = config.heads, D = config.dim / H;
  const auto parts = qkv(x).view({x.size(0), 3, H, D}).unbind(1);  // (B, H, D) each
  auto& kv = cache.as<KvCache>();
  kv.append(parts[1], parts[2]);
  const auto T = kv.tokens();
  auto scores = kv.keys().matmul(parts[0].unsqueeze(-1)).squeeze(-1) / std::sqrt(D);  // (B, H, T)
  if (relative_bias.defined())
    scores = scores + distance_bias(torch::arange(1 - T, 1, scores.options().dtype(torch::kLong)));
  const auto weights = scores.softmax(-1).unsqueeze(2);  // (B, H, 1, T)
  if (auto* capture = AttentionCapture::current())
    capture->record(weights, sequence_grid(1), sequence_grid(T));
  return proj(weights.matmul(kv.values()).flatten(1));  // (B, C)
}

}  // namespace vitrine
