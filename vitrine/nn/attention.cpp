#include "vitrine/nn/attention.h"

#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/attention.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {

AttentionImpl::AttentionImpl(const AttentionConfig& c) : SelfAttentionImpl(c) {
  if (config.relative > 0)
    relative_bias =
        register_parameter("relative_bias", torch::zeros({config.heads, 2 * config.relative + 1}));
}

torch::Tensor AttentionImpl::score_bias(int64_t T) const {
  torch::Tensor bias;
  const auto options = qkv->weight.options();
  if (relative_bias.defined()) {
    const auto place = torch::arange(T, options.dtype(torch::kLong));
    const auto distance = place.unsqueeze(0) - place.unsqueeze(1);  // (T, T)
    const auto R = config.relative;
    bias = relative_bias.index({torch::indexing::Slice(), distance.clamp(-R, R) + R});
  }
  if (config.causal) {
    const auto later = torch::full({1, T, T}, -INFINITY, options).triu(1);
    bias = bias.defined() ? bias + later : later;
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
  const auto bias = score_bias(T);
  if (auto* capture = AttentionCapture::current())
    capture->record(attention_weights(packed, bias), grid_of(T), grid_of(T));  // (B, H, T, T)
  const auto dropout = is_training() ? config.attention_dropout : 0;
  const auto mixed =
      bias.defined() ? biased_attention(packed, bias, dropout) : packed_attention(packed, dropout);
  return keyed_dropout(proj(mixed), config.dropout, is_training());  // (B, T, C)
}

}  // namespace vitrine
