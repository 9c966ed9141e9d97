#include "vitrine/nn/dot_product_attention.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine {

torch::Tensor dot_product_attention(const torch::Tensor& q, const torch::Tensor& k,
                                    const torch::Tensor& v, const DotProductAttentionConfig& c,
                                    const torch::Tensor& bias) {
  check(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && q.size(1) == k.size(1) &&
            q.size(3) == k.size(3) && v.size(1) == k.size(1) && v.size(2) == k.size(2),
        "attention: queries {}, keys {} and values {} do not fit together", fmt::join(q.sizes(), "x"),
        fmt::join(k.sizes(), "x"), fmt::join(v.sizes(), "x"));
  auto scores = (q * c.scale).matmul(k.transpose(-2, -1));  // (B, H, Tq, Tk)
  if (bias.defined()) scores = scores + bias;
  const auto weights = scores.softmax(-1);
  if (auto* capture = AttentionCapture::current()) capture->record(weights, c.queries, c.keys);
  const auto kept = torch::dropout(weights, c.dropout, /*train=*/c.dropout > 0);
  return kept.matmul(v).transpose(1, 2).flatten(/*start_dim=*/2);  // (B, Tq, H * E)
}

}  // namespace vitrine
