#include "vitrine/ops/adam.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

constexpr int64_t kElementsPerPiece = 1 << 15;

bool has_kernel(const torch::Tensor& t) { return has_cpu_kernel(t) && t.is_contiguous(); }

}  // namespace

void adam_update_reference(const kernels::AdamStep& s, torch::Tensor& weight,
                           const torch::Tensor& gradient, torch::Tensor& moment1,
                           torch::Tensor& moment2) {
  const auto g = gradient * s.gradient_scale + weight * s.l2_decay;
  moment1.mul_(s.beta1).add_(g, 1 - s.beta1);
  moment2.mul_(s.beta2).addcmul_(g, g, 1 - s.beta2);
  const auto divisor = moment2.sqrt().div_(std::sqrt(s.correction2)).add_(s.eps);
  weight.mul_(1 - s.lr * s.decoupled_decay).addcdiv_(moment1, divisor, -s.lr / s.correction1);
}

void adam_update(const kernels::AdamStep& step, torch::Tensor& weight,
                 const torch::Tensor& gradient, torch::Tensor& moment1, torch::Tensor& moment2) {
  check(weight.sizes() == gradient.sizes() && weight.sizes() == moment1.sizes() &&
            weight.sizes() == moment2.sizes(),
        "adam_update: weight, gradient and moments differ in shape");
  const auto g = gradient.contiguous();
  if (!has_kernel(weight) || !has_kernel(moment1) || !has_kernel(moment2))
    return adam_update_reference(step, weight, g, moment1, moment2);
  AT_DISPATCH_FLOATING_TYPES(weight.scalar_type(), "adam_update", [&] {
    auto *w = weight.data_ptr<scalar_t>(), *m = moment1.data_ptr<scalar_t>(),
         *v = moment2.data_ptr<scalar_t>();
    const auto* dw = g.data_ptr<scalar_t>();
    at::parallel_for(0, weight.numel(), kElementsPerPiece, [&](int64_t begin, int64_t end) {
      kernels::adam(step, w + begin, dw + begin, m + begin, v + begin, end - begin);
    });
  });
}

double joint_norm(const std::vector<torch::Tensor>& tensors) {
  double total = 0;
  for (const auto& t : tensors) {
    if (!t.defined()) continue;
    if (!has_kernel(t)) {
      total += t.to(torch::kDouble).square().sum().item<double>();
      continue;
    }
    // Fixed pieces, so that the sum does not depend on the threads.
    const int64_t n = t.numel(), pieces = (n + kElementsPerPiece - 1) / kElementsPerPiece;
    std::vector<double> partial(pieces);
    AT_DISPATCH_FLOATING_TYPES(t.scalar_type(), "joint_norm", [&] {
      const auto* x = t.data_ptr<scalar_t>();
      at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto first = i * kElementsPerPiece;
          partial[i] = kernels::sum_of_squares(x + first, std::min(kElementsPerPiece, n - first));
        }
      });
    });
    for (const double p : partial) total += p;
  }
  return std::sqrt(total);
}

}  // namespace vitrine
