#include "vitrine/ops/bf16/linear.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/ops/bf16/matrix.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

struct Bf16Linear : torch::autograd::Function<Bf16Linear> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& weight,
                               const c10::optional<torch::Tensor>& bias) {
    const auto group = weight.requires_grad() ? kernels::packed_layout().columns : 0;
    const auto in = to_bf16(x, {.group = group});
    ctx->save_for_backward({in.groups, weight});
    ctx->saved_data["shape"] = x.sizes().vec();
    ctx->saved_data["bias"] = bias.has_value();
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return bf16_product({in.rows, in.rows.size(0)}, packed_rows(weight), weight.size(0),
                        bias.value_or(torch::Tensor()))
        .view(shape);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto shape = ctx->saved_data["shape"].toIntVector();
    const auto &in_groups = saved[0], &weight = saved[1];
    const auto N = weight.size(0), K = weight.size(1);
    const bool for_input = ctx->needs_input_grad(0), for_weight = ctx->needs_input_grad(1),
               for_bias = ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2);
    const auto dy = to_bf16(gradients[0], {.rows = for_input,
                                           .group = for_weight ? kRowsPerTask : 0,
                                           .column_sums = for_bias});  // (M, N)
    tensor_list result(3);
    if (for_input)
      result[0] = bf16_product({dy.rows, dy.rows.size(0)}, packed_columns(weight), K).view(shape);
    if (for_weight) result[1] = bf16_product({dy.groups, N, /*grouped=*/true}, in_groups, K);
    result[2] = dy.column_sums;
    return result;
  }
};

}  // namespace

torch::Tensor bf16_linear(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias) {
  check_bf16_factors(x, weight);
  RECORD_FUNCTION("vitrine::bf16_linear", std::vector<c10::IValue>({x, weight}));
  const auto optional_bias =
      bias.defined() ? c10::optional<torch::Tensor>(bias) : c10::optional<torch::Tensor>();
  return Bf16Linear::apply(x, weight, optional_bias);
}

}  // namespace vitrine
