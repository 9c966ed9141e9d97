#include "vitrine/nn/linformer_attention.h"

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {

torch::Tensor linformer_attention(const torch::Tensor& q, const torch::Tensor& k,
                                  const torch::Tensor& v, const torch::Tensor& E,
                                  const torch::Tensor& F, double dropout) {
  const auto keys = linear_product(k.transpose(-2, -1), E);                   // (B, H, D, K)
  const auto values = linear_product(v.transpose(-2, -1), F);                 // (B, H, D, K)
  const auto weights = (q.matmul(keys) / std::sqrt(q.size(-1))).softmax(-1);  // (B, H, T, K)
  return keyed_dropout(weights, dropout, dropout > 0).matmul(values.transpose(-2, -1));
}

void LinformerAttentionConfig::validate() const {
  attention.validate();
  attention.refuse_relative("linformer");
  check(!attention.causal,
        "linformer: its keys are mixtures of all tokens, so none can be hidden; choose "
        "attention.kind softmax or performer");
  check(tokens > 0, "linformer: the number of tokens must be known, got {}", tokens);
  check(length > 0 && length <= tokens,
        "linformer: length {} is not between 1 and the {} tokens; set attention.length", length,
        tokens);
}

LinformerAttentionImpl::LinformerAttentionImpl(const LinformerAttentionConfig& c)
    : SelfAttentionImpl(c.attention), tokens(c.tokens) {
  c.validate();
  const LinearConfig linear{.in = tokens, .out = c.length, .bias = false, .keep_fp32 = true};
  key_proj = register_module("key_proj", Linear(linear));
  value_proj = register_module("value_proj", Linear(linear));
}

torch::Tensor LinformerAttentionImpl::forward(const torch::Tensor& x) {
  const auto parts = project(x, "linformer");
  check(x.size(1) == tokens, "linformer: {} tokens, but the layer was made for {}", x.size(1),
        tokens);
  return merge(linformer_attention(parts[0], parts[1], parts[2], key_proj->weight,
                                   value_proj->weight,
                                   is_training() ? config.attention_dropout : 0));
}

}  // namespace vitrine
