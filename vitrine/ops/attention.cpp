#include "vitrine/ops/attention.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/ops/attention_heads.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/random_key.h"
#include "vitrine/ops/scaled_dot_product_attention.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// Of a tensor (B, T, 3, H, D).
AttentionShape shape_of(const torch::Tensor& qkv, double dropout, int64_t key, bool bf16,
                        bool causal) {
  const auto T = qkv.size(1), D = qkv.size(4);
  return {.B = qkv.size(0),
          .H = qkv.size(3),
          .head = {.queries = T, .keys = T, .width = D, .value_width = D},
          .scale = 1 / std::sqrt(static_cast<double>(D)),
          .dropout = dropout,
          .key = static_cast<uint64_t>(key),
          .factors = bf16 ? kernels::Factors::Bf16 : kernels::Factors::Full,
          .causal = causal};
}

/// Queries (0), keys (1) or values (2) of a contiguous (B, T, 3, H, D) tensor.
template <typename T>
Heads<T> part_of(T* qkv, const AttentionShape& s, int64_t part) {
  const auto C = s.H * s.head.width;
  return {qkv + part * C, s.head.queries * 3 * C, s.head.width, 3 * C};
}

/// A contiguous (B, T, H * E) tensor by heads.
template <typename T>
Heads<T> by_head(T* tokens, const AttentionShape& s) {
  const auto C = s.H * s.head.value_width;
  return {tokens, s.head.queries * C, s.head.value_width, C};
}

struct PackedAttention : torch::autograd::Function<PackedAttention> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& packed, double dropout,
                               bool bf16, bool causal, bool backward_follows) {
    const auto qkv = packed.contiguous();
    const auto key = static_cast<int64_t>(dropout > 0 ? draw_random_key() : 0);
    const auto s = shape_of(qkv, dropout, key, bf16, causal);
    torch::Tensor kept;
    if (backward_follows) kept = empty_kept(s.B * s.H, s.head, s.factors, qkv.options());
    auto out = torch::empty({s.B, qkv.size(1), qkv.size(3) * qkv.size(4)}, qkv.options());
    AT_DISPATCH_FLOATING_TYPES(qkv.scalar_type(), "packed_attention", [&] {
      const auto* in = qkv.data_ptr<scalar_t>();
      forward_heads(s, part_of(in, s, 0), part_of(in, s, 1), part_of(in, s, 2),
                    backward_follows ? kept.data_ptr<scalar_t>() : nullptr,
                    by_head(out.data_ptr<scalar_t>(), s));
    });
    if (backward_follows) ctx->save_for_backward({qkv, kept});
    ctx->saved_data["bf16"] = bf16;
    ctx->saved_data["causal"] = causal;
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["key"] = key;
    return out;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &qkv = saved[0], &kept = saved[1];
    const auto d_out = gradients[0].contiguous();
    const auto s =
        shape_of(qkv, ctx->saved_data["dropout"].toDouble(), ctx->saved_data["key"].toInt(),
                 ctx->saved_data["bf16"].toBool(), ctx->saved_data["causal"].toBool());
    auto d_qkv = torch::empty_like(qkv);
    AT_DISPATCH_FLOATING_TYPES(qkv.scalar_type(), "packed_attention_backward", [&] {
      const auto* in = qkv.data_ptr<scalar_t>();
      auto* dx = d_qkv.data_ptr<scalar_t>();
      const auto* dy = d_out.data_ptr<scalar_t>();
      backward_heads(s, part_of(in, s, 0), part_of(in, s, 1), part_of(in, s, 2),
                     static_cast<const scalar_t*>(kept.data_ptr<scalar_t>()), by_head(dy, s),
                     part_of(dx, s, 0), part_of(dx, s, 1), part_of(dx, s, 2));
    });
    return {d_qkv, {}, {}, {}, {}};
  }
};

void check_packed(const torch::Tensor& qkv, double dropout) {
  check(qkv.dim() == 5 && qkv.size(2) == 3,
        "packed_attention: expected a (B, T, 3, H, D) tensor, got {}", fmt::join(qkv.sizes(), "x"));
  check(dropout >= 0 && dropout < 1, "packed_attention: dropout {} is not in [0, 1)", dropout);
}

}  // namespace

torch::Tensor attention_weights(const torch::Tensor& qkv, const torch::Tensor& bias) {
  check_packed(qkv, 0);
  const auto q = qkv.select(2, 0).transpose(1, 2), k = qkv.select(2, 1).transpose(1, 2);
  auto scores = q.matmul(k.transpose(-2, -1)) / std::sqrt(qkv.size(4));  // (B, H, T, T)
  if (bias.defined()) scores = scores + bias;
  return scores.softmax(-1);
}

torch::Tensor causal_bias(int64_t T, const torch::TensorOptions& options) {
  return torch::full({1, T, T}, -INFINITY, options).triu(1);
}

torch::Tensor packed_attention_reference(const torch::Tensor& qkv, double dropout, bool causal) {
  const auto bias = causal ? causal_bias(qkv.size(1), qkv.options()) : torch::Tensor();
  return biased_attention(qkv, bias, dropout);
}

torch::Tensor biased_attention(const torch::Tensor& qkv, const torch::Tensor& bias,
                               double dropout) {
  return attend(attention_weights(qkv, bias), qkv, dropout);
}

torch::Tensor attend(const torch::Tensor& weights, const torch::Tensor& qkv, double dropout) {
  return weigh_values(weights, /*v=*/qkv.select(2, 2).transpose(1, 2), dropout);
}

torch::Tensor packed_attention(const torch::Tensor& qkv, double dropout, Precision products,
                               bool causal) {
  check_packed(qkv, dropout);
  RECORD_FUNCTION("vitrine::packed_attention", std::vector<c10::IValue>({qkv}));
  if (!has_cpu_kernel(qkv)) return packed_attention_reference(qkv, dropout, causal);
  const bool backward_follows = torch::GradMode::is_enabled() && qkv.requires_grad();
  const bool bf16 = attention_factors(products) == kernels::Factors::Bf16;
  return PackedAttention::apply(qkv, dropout, bf16, causal, backward_follows);
}

}  // namespace vitrine
