#include "vitrine/ops/gelu.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/kernels/gelu.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr int64_t kNumbersPerTask = 1 << 14;

struct Gelu : torch::autograd::Function<Gelu> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& input) {
    const auto x = input.contiguous();
    ctx->save_for_backward({x});
    auto y = torch::empty_like(x);
    const auto* in = x.data_ptr<float>();
    auto* out = y.data_ptr<float>();
    at::parallel_for(0, x.numel(), kNumbersPerTask, [&](int64_t begin, int64_t end) {
      kernels::gelu(in + begin, end - begin, out + begin);
    });
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto x = ctx->get_saved_variables()[0];
    const auto dy = gradients[0].contiguous();
    auto dx = torch::empty_like(x);
    const auto* in = x.data_ptr<float>();
    const auto* d_out = dy.data_ptr<float>();
    auto* d_in = dx.data_ptr<float>();
    at::parallel_for(0, x.numel(), kNumbersPerTask, [&](int64_t begin, int64_t end) {
      kernels::gelu_backward(in + begin, d_out + begin, end - begin, d_in + begin);
    });
    return {dx};
  }
};

}  // namespace

torch::Tensor gelu(const torch::Tensor& x) {
  if (!has_cpu_kernel(x) || x.scalar_type() != torch::kFloat) return torch::gelu(x);
  RECORD_FUNCTION("vitrine::gelu", std::vector<c10::IValue>({x}));
  return Gelu::apply(x);
}

}  // namespace vitrine
