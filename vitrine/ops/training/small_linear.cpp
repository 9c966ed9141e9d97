#include "vitrine/ops/training/small_linear.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/gemm.h"
#include "vitrine/ops/optional_tensor.h"
#include "vitrine/ops/training/factors.h"

namespace vitrine {
namespace {

using kernels::Transpose;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

struct SmallLinear : torch::autograd::Function<SmallLinear> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& input,
                               const torch::Tensor& parameter, const OptionalTensor& bias) {
    const auto x = input.contiguous(), weight = parameter.contiguous();
    const auto N = weight.size(0), K = weight.size(1), M = x.numel() / K;
    auto shape = x.sizes().vec();
    shape.back() = N;
    auto y = torch::empty(shape);
    auto* out = y.data_ptr<float>();
    if (bias) {
      const auto b = bias->contiguous();
      for (int64_t row = 0; row < M; ++row) std::copy_n(b.data_ptr<float>(), N, out + row * N);
    }
    kernels::gemm(Transpose::No, Transpose::Yes, M, N, K, 1.0f, x.data_ptr<float>(), K,
                  weight.data_ptr<float>(), K, bias ? 1.0f : 0.0f, out, N);
    ctx->save_for_backward({x, weight});
    ctx->saved_data["bias"] = bias.has_value();
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1];
    const auto dy = gradients[0].contiguous();
    const auto N = weight.size(0), K = weight.size(1), M = x.numel() / K;
    const auto* d_out = dy.data_ptr<float>();
    tensor_list result(3);
    if (ctx->needs_input_grad(0)) {
      result[0] = torch::empty(x.sizes());
      kernels::gemm(Transpose::No, Transpose::No, M, K, N, 1.0f, d_out, N, weight.data_ptr<float>(),
                    K, 0.0f, result[0].data_ptr<float>(), K);
    }
    if (ctx->needs_input_grad(1)) {
      result[1] = torch::empty({N, K});
      kernels::gemm(Transpose::Yes, Transpose::No, N, K, M, 1.0f, d_out, N, x.data_ptr<float>(), K,
                    0.0f, result[1].data_ptr<float>(), K);
    }
    if (ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2)) {
      result[2] = torch::empty({N});
      kernels::sum_rows(d_out, N, M, N, result[2].data_ptr<float>());
    }
    return result;
  }
};

}  // namespace

torch::Tensor small_linear(const torch::Tensor& x, const torch::Tensor& weight,
                           const torch::Tensor& bias) {
  check_factors(x, weight);
  if (bias.defined())
    check(bias.dim() == 1 && bias.size(0) == weight.size(0),
          "linear: a bias of {} does not fit {} outputs", fmt::join(bias.sizes(), "x"),
          weight.size(0));
  RECORD_FUNCTION("vitrine::small_linear", std::vector<c10::IValue>({x, weight}));
  return SmallLinear::apply(x, weight, if_defined(bias));
}

}  // namespace vitrine
