#include "vitrine/ops/scaled_dot_product_attention.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/ops/attention_heads.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/random_key.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

AttentionShape shape_of(const torch::Tensor& q, const torch::Tensor& v, double scale,
                        double dropout, int64_t key, bool bf16) {
  return {.B = q.size(0),
          .H = q.size(1),
          .head = {.queries = q.size(2),
                   .keys = v.size(2),
                   .width = q.size(3),
                   .value_width = v.size(3)},
          .scale = scale,
          .dropout = dropout,
          .key = static_cast<uint64_t>(key),
          .factors = bf16 ? kernels::Factors::Bf16 : kernels::Factors::Full};
}

/// The tensor itself if the numbers of a token lie side by side, else a copy where they do.
torch::Tensor with_whole_rows(const torch::Tensor& t) {
  return t.stride(-1) == 1 || t.size(-1) == 1 ? t : t.contiguous();
}

template <typename T>
Heads<T> heads_of(const torch::Tensor& t) {
  return {t.data_ptr<std::remove_const_t<T>>(), t.stride(0), t.stride(1), t.stride(2)};
}

/// (B, H, T, D) in memory where the heads of a token lie side by side.
torch::Tensor empty_heads(const torch::Tensor& like) {
  return torch::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options())
      .transpose(1, 2);
}

struct ScaledDotProductAttention : torch::autograd::Function<ScaledDotProductAttention> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& queries,
                               const torch::Tensor& keys, const torch::Tensor& values, double scale,
                               double dropout, bool bf16, bool backward_follows) {
    const auto q = with_whole_rows(queries), k = with_whole_rows(keys), v = with_whole_rows(values);
    const auto key = static_cast<int64_t>(dropout > 0 ? draw_random_key() : 0);
    const auto s = shape_of(q, v, scale, dropout, key, bf16);
    torch::Tensor kept;
    if (backward_follows) kept = empty_kept(s.B * s.H, s.head, s.factors, q.options());
    auto out = torch::empty({s.B, s.head.queries, s.H, s.head.value_width}, q.options());
    AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "scaled_dot_product_attention", [&] {
      forward_heads(s, heads_of<const scalar_t>(q), heads_of<const scalar_t>(k),
                    heads_of<const scalar_t>(v),
                    backward_follows ? kept.data_ptr<scalar_t>() : nullptr,
                    heads_of<scalar_t>(out.transpose(1, 2)));
    });
    if (backward_follows) ctx->save_for_backward({q, k, v, kept});
    ctx->saved_data["bf16"] = bf16;
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["key"] = key;
    return out.flatten(/*start_dim=*/2);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &q = saved[0], &k = saved[1], &v = saved[2], &kept = saved[3];
    const auto s =
        shape_of(q, v, ctx->saved_data["scale"].toDouble(), ctx->saved_data["dropout"].toDouble(),
                 ctx->saved_data["key"].toInt(), ctx->saved_data["bf16"].toBool());
    const auto d_out =
        gradients[0].contiguous().view({s.B, q.size(2), s.H, v.size(3)}).transpose(1, 2);
    auto dq = empty_heads(q), dk = empty_heads(k), dv = empty_heads(v);
    AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "scaled_dot_product_attention_backward", [&] {
      backward_heads(
          s, heads_of<const scalar_t>(q), heads_of<const scalar_t>(k), heads_of<const scalar_t>(v),
          static_cast<const scalar_t*>(kept.data_ptr<scalar_t>()), heads_of<const scalar_t>(d_out),
          heads_of<scalar_t>(dq), heads_of<scalar_t>(dk), heads_of<scalar_t>(dv));
    });
    return {dq, dk, dv, {}, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor scaled_dot_product_weights(const torch::Tensor& q, const torch::Tensor& k,
                                         double scale) {
  return (q * scale).matmul(k.transpose(-2, -1)).softmax(-1);
}

torch::Tensor weigh_values(const torch::Tensor& weights, const torch::Tensor& v, double dropout) {
  const auto kept = torch::dropout(weights, dropout, /*train=*/dropout > 0);
  return kept.matmul(v).transpose(1, 2).flatten(/*start_dim=*/2);
}

torch::Tensor scaled_dot_product_attention(const torch::Tensor& q, const torch::Tensor& k,
                                           const torch::Tensor& v, double scale, double dropout,
                                           Precision products) {
  check(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && q.size(0) == k.size(0) &&
            v.size(0) == k.size(0) && q.size(1) == k.size(1) && v.size(1) == k.size(1) &&
            q.size(3) == k.size(3) && v.size(2) == k.size(2),
        "attention: queries {}, keys {} and values {} do not fit together",
        fmt::join(q.sizes(), "x"), fmt::join(k.sizes(), "x"), fmt::join(v.sizes(), "x"));
  check(dropout >= 0 && dropout < 1, "attention: dropout {} is not in [0, 1)", dropout);
  RECORD_FUNCTION("vitrine::scaled_dot_product_attention", std::vector<c10::IValue>({q, k, v}));
  if (!has_cpu_kernel(q)) return weigh_values(scaled_dot_product_weights(q, k, scale), v, dropout);
  const bool backward_follows = torch::GradMode::is_enabled() &&
                                (q.requires_grad() || k.requires_grad() || v.requires_grad());
  const bool bf16 = attention_factors(products) == kernels::Factors::Bf16;
  return ScaledDotProductAttention::apply(q, k, v, scale, dropout, bf16, backward_follows);
}

}  // namespace vitrine
