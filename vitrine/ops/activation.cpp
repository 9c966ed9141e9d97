#include "vitrine/ops/activation.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/activation.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr int64_t kNumbersPerTask = 1 << 14;

struct Activate : torch::autograd::Function<Activate> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& input, Activation f) {
    const auto x = input.contiguous();
    ctx->save_for_backward({x});
    ctx->saved_data["activation"] = static_cast<int64_t>(f);
    auto y = torch::empty_like(x);
    const auto* in = x.data_ptr<float>();
    auto* out = y.data_ptr<float>();
    at::parallel_for(0, x.numel(), kNumbersPerTask, [&](int64_t begin, int64_t end) {
      kernels::activate(f, in + begin, end - begin, out + begin);
    });
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto x = ctx->get_saved_variables()[0];
    const auto f = static_cast<Activation>(ctx->saved_data["activation"].toInt());
    const auto dy = gradients[0].contiguous();
    auto dx = torch::empty_like(x);
    const auto* in = x.data_ptr<float>();
    const auto* d_out = dy.data_ptr<float>();
    auto* d_in = dx.data_ptr<float>();
    at::parallel_for(0, x.numel(), kNumbersPerTask, [&](int64_t begin, int64_t end) {
      kernels::activation_backward(f, in + begin, d_out + begin, end - begin, d_in + begin);
    });
    return {dx, {}};
  }
};

/// Under which a profile or a summary sees it.
const char* record_name(Activation f) {
  switch (f) {
    case Activation::Gelu:
    case Activation::GeluTanh:
      return "vitrine::gelu";
    case Activation::Relu:
      return "vitrine::relu";
    case Activation::QuickGelu:
      return "vitrine::quick_gelu";
  }
  fail("activation {} is not known", static_cast<int>(f));
}

}  // namespace

torch::Tensor activate_reference(const torch::Tensor& x, Activation f) {
  switch (f) {
    case Activation::Gelu:
      return torch::gelu(x);
    case Activation::Relu:
      return torch::relu(x);
    case Activation::QuickGelu:
      return x * torch::sigmoid(1.702 * x);
    case Activation::GeluTanh:
      return at::gelu(x, "tanh");
  }
  fail("activation {} is not known", static_cast<int>(f));
}

torch::Tensor activate(const torch::Tensor& x, Activation f) {
  if (!has_cpu_kernel(x) || x.scalar_type() != torch::kFloat) return activate_reference(x, f);
  RECORD_FUNCTION(record_name(f), std::vector<c10::IValue>({x}));
  return Activate::apply(x, f);
}

}  // namespace vitrine
