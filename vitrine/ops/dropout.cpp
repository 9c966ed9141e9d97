#include "vitrine/ops/dropout.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/dropout.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/random_key.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr int64_t kElementsPerTask = 1 << 14;

torch::Tensor drop(const torch::Tensor& input, double p, int64_t key) {
  const auto x = input.contiguous();
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "dropout", [&] {
    const auto* from = x.data_ptr<scalar_t>();
    auto* to = y.data_ptr<scalar_t>();
    at::parallel_for(0, x.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
      kernels::dropout(from + begin, to + begin, end - begin, static_cast<float>(p),
                       static_cast<uint64_t>(key), static_cast<uint64_t>(begin));
    });
  });
  return y;
}

struct Dropout : torch::autograd::Function<Dropout> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, double p) {
    const auto key = static_cast<int64_t>(draw_random_key());
    ctx->saved_data["p"] = p;
    ctx->saved_data["key"] = key;
    return drop(x, p, key);
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    return {drop(gradients[0], ctx->saved_data["p"].toDouble(), ctx->saved_data["key"].toInt()),
            {}};
  }
};

}  // namespace

torch::Tensor keyed_dropout(const torch::Tensor& x, double p, bool training) {
  check(p >= 0 && p < 1, "keyed_dropout: probability {} is not in [0, 1)", p);
  if (!training || p == 0) return x;
  if (!has_cpu_kernel(x)) return torch::dropout(x, p, /*train=*/true);
  return Dropout::apply(x, p);
}

torch::Tensor drop_path(const torch::Tensor& x, double p, bool training) {
  check(p >= 0 && p < 1, "drop_path: probability {} is not in [0, 1)", p);
  if (!training || p == 0) return x;
  std::vector<int64_t> shape(x.dim(), 1);
  shape[0] = x.size(0);
  return x * keyed_dropout(torch::ones(shape, x.options()), p, /*training=*/true);
}

}  // namespace vitrine
