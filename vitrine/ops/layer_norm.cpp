#include "vitrine/ops/layer_norm.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/layer_norm.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr int64_t kWidestRow = 64;
// Fixed pieces, so that sums over rows do not depend on the threads.
constexpr int64_t kRowsPerPiece = 1024;

template <typename T>
kernels::NormRows<T> piece_of(const torch::Tensor& x, const torch::Tensor& gamma,
                              const torch::Tensor& mean, const torch::Tensor& inv_std,
                              int64_t piece) {
  const int64_t n = x.size(-1), first = piece * kRowsPerPiece;
  return {x.data_ptr<T>() + first * n,
          gamma.data_ptr<T>(),
          std::min(kRowsPerPiece, x.numel() / n - first),
          n,
          mean.data_ptr<T>() + first,
          inv_std.data_ptr<T>() + first};
}

int64_t pieces_of(const torch::Tensor& x) {
  return (x.numel() / x.size(-1) + kRowsPerPiece - 1) / kRowsPerPiece;
}

struct NarrowNorm : torch::autograd::Function<NarrowNorm> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& input,
                               const torch::Tensor& weight, const torch::Tensor& bias, double eps) {
    const auto x = input.contiguous(), gamma = weight.contiguous(), beta = bias.contiguous();
    auto y = torch::empty_like(x);
    const auto mean = torch::empty({x.numel() / x.size(-1)}, x.options());
    const auto inv_std = torch::empty_like(mean);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "layer_norm", [&] {
      at::parallel_for(0, pieces_of(x), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          kernels::layer_norm(piece_of<scalar_t>(x, gamma, mean, inv_std, i),
                              beta.data_ptr<scalar_t>(), static_cast<scalar_t>(eps),
                              y.data_ptr<scalar_t>() + i * kRowsPerPiece * x.size(-1));
      });
    });
    ctx->save_for_backward({x, gamma, mean, inv_std});
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &gamma = saved[1], &mean = saved[2], &inv_std = saved[3];
    const auto dy = gradients[0].contiguous();
    const auto n = x.size(-1), pieces = pieces_of(x);
    auto dx = torch::empty_like(x);
    // Of gamma and beta, piece by piece.
    auto gamma_sums = torch::zeros({pieces, n}, x.options()),
         beta_sums = torch::zeros_like(gamma_sums);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "layer_norm_backward", [&] {
      auto *d_gamma = gamma_sums.data_ptr<scalar_t>(), *d_beta = beta_sums.data_ptr<scalar_t>();
      at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto first = i * kRowsPerPiece * n;
          kernels::layer_norm_backward(
              piece_of<scalar_t>(x, gamma, mean, inv_std, i), dy.data_ptr<scalar_t>() + first,
              dx.data_ptr<scalar_t>() + first, d_gamma + i * n, d_beta + i * n);
        }
      });
    });
    const auto total = [&](const torch::Tensor& sums) {
      return pieces == 1 ? sums.squeeze(0) : sums.sum(0);
    };
    return {dx, total(gamma_sums), total(beta_sums), {}};
  }
};

}  // namespace

torch::Tensor layer_norm(const torch::Tensor& x, const torch::nn::LayerNorm& norm) {
  const auto& shape = norm->options.normalized_shape();
  const auto &weight = norm->weight, &bias = norm->bias;
  check(shape.size() == 1 && x.dim() >= 1 && x.size(-1) == shape[0],
        "layer_norm: rows of {} do not fit a norm over {}", x.size(-1), fmt::join(shape, "x"));
  const bool narrow = x.size(-1) <= kWidestRow && x.numel() > 0 && weight.defined() &&
                      has_cpu_kernel(x) && x.scalar_type() == weight.scalar_type();
  if (!narrow) return torch::layer_norm(x, shape, weight, bias, norm->options.eps());
  RECORD_FUNCTION("vitrine::layer_norm", std::vector<c10::IValue>({x, shape[0], weight, bias}));
  return NarrowNorm::apply(x, weight, bias, norm->options.eps());
}

}  // namespace vitrine
