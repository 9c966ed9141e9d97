#include "vitrine/nn/dot_product_attention.h"

#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/scaled_dot_product_attention.h"

namespace vitrine {

torch::Tensor dot_product_attention(const torch::Tensor& q, const torch::Tensor& k,
                                    const torch::Tensor& v, const DotProductAttentionConfig& c) {
  auto* capture = AttentionCapture::current();
  if (!capture) return scaled_dot_product_attention(q, k, v, c.scale, c.dropout, c.products);
  const auto weights = scaled_dot_product_weights(q, k, c.scale);
  capture->record(weights, c.queries, c.keys);
  return weigh_values(weights, v, c.dropout);
}

}  // namespace vitrine
