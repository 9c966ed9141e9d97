#include "vitrine/ops/attention.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/kernels/attention.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/random_key.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

struct Shape {
  int64_t B, T, H, D;
  explicit Shape(const torch::Tensor& qkv)
      : B(qkv.size(0)), T(qkv.size(1)), H(qkv.size(3)), D(qkv.size(4)) {}
};

/// Head `index` (batch-major) of a contiguous (B, T, 3, H, D) tensor.
template <typename T>
kernels::Head<T> head_of(const T* qkv, const Shape& s, int64_t index, double dropout,
                         uint64_t key) {
  const int64_t C = s.H * s.D, b = index / s.H, h = index % s.H;
  const T* q = qkv + b * s.T * 3 * C + h * s.D;
  const kernels::DropoutKey drop{static_cast<float>(dropout), key + static_cast<uint64_t>(index)};
  return {q, q + C, q + 2 * C, s.T, s.D, 3 * C, static_cast<T>(1 / std::sqrt(s.D)), drop};
}

struct PackedAttention : torch::autograd::Function<PackedAttention> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& packed, double dropout) {
    const auto qkv = packed.contiguous();
    const Shape s(qkv);
    const auto key = static_cast<int64_t>(dropout > 0 ? draw_random_key() : 0);
    auto weights = torch::empty({s.B, s.H, s.T, s.T}, qkv.options());
    auto out = torch::empty({s.B, s.T, s.H * s.D}, qkv.options());
    AT_DISPATCH_FLOATING_TYPES(qkv.scalar_type(), "packed_attention", [&] {
      const auto* in = qkv.data_ptr<scalar_t>();
      auto* p = weights.data_ptr<scalar_t>();
      auto* y = out.data_ptr<scalar_t>();
      at::parallel_for(0, s.B * s.H, 1, [&](int64_t begin, int64_t end) {
        std::vector<scalar_t> scratch(dropout > 0 ? s.T * s.T : 0);
        for (int64_t i = begin; i < end; ++i) {
          auto* row = y + (i / s.H) * s.T * s.H * s.D + (i % s.H) * s.D;
          kernels::attention_forward(head_of(in, s, i, dropout, key), p + i * s.T * s.T, row,
                                     s.H * s.D, scratch.data());
        }
      });
    });
    ctx->save_for_backward({qkv, weights});
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["key"] = key;
    return out;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &qkv = saved[0], &weights = saved[1];
    const auto d_out = gradients[0].contiguous();
    const Shape s(qkv);
    const auto dropout = ctx->saved_data["dropout"].toDouble();
    const auto key = static_cast<uint64_t>(ctx->saved_data["key"].toInt());
    auto d_qkv = torch::empty_like(qkv);
    AT_DISPATCH_FLOATING_TYPES(qkv.scalar_type(), "packed_attention_backward", [&] {
      const auto* in = qkv.data_ptr<scalar_t>();
      const auto* p = weights.data_ptr<scalar_t>();
      const auto* dy = d_out.data_ptr<scalar_t>();
      auto* dx = d_qkv.data_ptr<scalar_t>();
      const int64_t C = s.H * s.D;
      at::parallel_for(0, s.B * s.H, 1, [&](int64_t begin, int64_t end) {
        std::vector<scalar_t> scratch(2 * s.T * s.T);
        for (int64_t i = begin; i < end; ++i) {
          const auto head = head_of(in, s, i, dropout, key);
          auto* dq = dx + (head.q - in);
          const auto* row = dy + (i / s.H) * s.T * C + (i % s.H) * s.D;
          kernels::attention_backward(head, p + i * s.T * s.T, row, C, dq, dq + C, dq + 2 * C,
                                      scratch.data());
        }
      });
    });
    return {d_qkv, {}};
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

torch::Tensor packed_attention_reference(const torch::Tensor& qkv, double dropout) {
  return biased_attention(qkv, /*bias=*/{}, dropout);
}

torch::Tensor biased_attention(const torch::Tensor& qkv, const torch::Tensor& bias,
                               double dropout) {
  return attend(attention_weights(qkv, bias), qkv, dropout);
}

torch::Tensor attend(const torch::Tensor& weights, const torch::Tensor& qkv, double dropout) {
  const auto kept = torch::dropout(weights, dropout, /*train=*/dropout > 0);
  const auto v = qkv.select(2, 2).transpose(1, 2);                 // (B, H, T, D)
  return kept.matmul(v).transpose(1, 2).flatten(/*start_dim=*/2);  // (B, T, H * D)
}

torch::Tensor packed_attention(const torch::Tensor& qkv, double dropout) {
  check_packed(qkv, dropout);
  RECORD_FUNCTION("vitrine::packed_attention", std::vector<c10::IValue>({qkv}));
  if (!has_cpu_kernel(qkv)) return packed_attention_reference(qkv, dropout);
  return PackedAttention::apply(qkv, dropout);
}

}  // namespace vitrine
