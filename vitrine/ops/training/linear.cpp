#include "vitrine/ops/training/linear.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/ops/optional_tensor.h"
#include "vitrine/ops/training/product.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

struct TrainingLinear : torch::autograd::Function<TrainingLinear> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& weight, const OptionalTensor& bias,
                               int64_t chosen, bool backward_follows) {
    const auto precision = static_cast<Precision>(chosen);
    const bool learns = backward_follows && weight.requires_grad();
    const auto group = learns ? kernels::packed_layout().columns : 0;
    const auto in = to_factor(x, precision, {.group = group});
    ctx->save_for_backward({in.groups, weight});
    ctx->saved_data["shape"] = x.sizes().vec();
    ctx->saved_data["bias"] = bias.has_value();
    ctx->saved_data["precision"] = chosen;
    const TrainingProduct product{precision, packed_rows(weight, precision), weight.size(0),
                                  bias.value_or(torch::Tensor())};
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return product.of({in.rows, in.rows.size(0)}).view(shape);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto precision = static_cast<Precision>(ctx->saved_data["precision"].toInt());
    const auto &in_groups = saved[0], &weight = saved[1];
    const auto N = weight.size(0), K = weight.size(1);
    const bool for_input = ctx->needs_input_grad(0), for_weight = ctx->needs_input_grad(1),
               for_bias = ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2);
    const auto dy = to_factor(gradients[0], precision,
                              {.rows = for_input,
                               .group = for_weight ? kRowsPerTask : 0,
                               .column_sums = for_bias});  // (M, N)
    tensor_list result(5);
    if (for_input)
      result[0] = TrainingProduct{precision, packed_columns(weight, precision), K}
                      .of({dy.rows, dy.rows.size(0)})
                      .view(ctx->saved_data["shape"].toIntVector());
    if (for_weight)
      result[1] = TrainingProduct{precision, in_groups, K}.of({dy.groups, N, /*grouped=*/true});
    result[2] = dy.column_sums;
    return result;
  }
};

}  // namespace

torch::Tensor training_linear(const torch::Tensor& x, const torch::Tensor& weight,
                              const torch::Tensor& bias, Precision precision) {
  check_factors(x, weight);
  RECORD_FUNCTION("vitrine::training_linear", std::vector<c10::IValue>({x, weight}));
  return TrainingLinear::apply(x, weight, if_defined(bias), static_cast<int64_t>(precision),
                               torch::GradMode::is_enabled());
}

}  // namespace vitrine
