#include "vitrine/ops/group_norm.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// A map with its channels last as (B, H W, C), where it lies.
torch::Tensor rows_of(const torch::Tensor& map) {
  return map.permute({0, 2, 3, 1}).flatten(/*start_dim=*/1, /*end_dim=*/2);
}

struct ChannelsLastGroupNorm : torch::autograd::Function<ChannelsLastGroupNorm> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               int64_t groups, double eps) {
    const auto B = x.size(0), C = x.size(1);
    const auto [y, mean, inv_std] =
        torch::native_group_norm(x, weight, bias, B, C, x.numel() / (B * C), groups, eps);
    ctx->save_for_backward({x, weight, mean, inv_std});
    return y;
  }

  /// With the sums s = sum(dy x) and t = sum(dy) of each channel, and their sums S and T over a
  /// group of n numbers, weighted by gamma: dx = gamma / std dy + a x + b, where
  /// a = (T mean - S) / (n std^3) and b = -a mean - T / (n std).
  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &gamma = saved[1];
    const auto B = x.size(0), C = x.size(1), G = saved[2].size(1), n = x.numel() / (B * G);
    const auto per_group = [&](const torch::Tensor& t) { return t.view({B, G, C / G}); };
    const auto mean = saved[2].unsqueeze(2), inv_std = saved[3].unsqueeze(2);  // (B, G, 1)
    const auto dy = gradients[0].contiguous(torch::MemoryFormat::ChannelsLast);
    const auto x_rows = rows_of(x), dy_rows = rows_of(dy);  // (B, H W, C)
    const auto s = per_group((dy_rows * x_rows).sum(1)), t = per_group(dy_rows.sum(1));
    const auto weights = gamma.view({1, G, C / G});
    const auto S = (s * weights).sum(2, /*keepdim=*/true), T = (t * weights).sum(2, true);
    const auto a = (T * mean - S) * inv_std.pow(3) / n, b = -a * mean - T * inv_std / n;
    const auto of_channels = [&](const torch::Tensor& groups) {
      return groups.expand({B, G, C / G}).reshape({B, 1, C});
    };
    auto dx = torch::addcmul(of_channels(b), x_rows, of_channels(a));
    dx.addcmul_(dy_rows, of_channels(inv_std * weights));
    const auto d_gamma = ((s - t * mean) * inv_std).sum(0).view({C});
    return {dx.view({B, x.size(2), x.size(3), C}).permute({0, 3, 1, 2}),
            d_gamma,
            t.sum(0).view({C}),
            {},
            {}};
  }
};

}  // namespace

torch::Tensor group_norm(const torch::Tensor& x, const GroupNormWeights& norm) {
  const auto &gamma = norm.gamma, &beta = norm.beta;
  check(x.dim() == 4 && x.size(1) == gamma.size(0) && gamma.size(0) % norm.groups == 0,
        "group_norm: a map of {} does not fit a norm of {} channels in {} groups",
        fmt::join(x.sizes(), "x"), gamma.size(0), norm.groups);
  const bool learns = torch::GradMode::is_enabled() && (x.requires_grad() || gamma.requires_grad());
  const bool applies = learns && has_cpu_kernel(x) && x.numel() > 0 &&
                       x.scalar_type() == gamma.scalar_type() &&
                       x.is_contiguous(torch::MemoryFormat::ChannelsLast);
  if (!applies) return torch::group_norm(x, norm.groups, gamma, beta, norm.eps);
  RECORD_FUNCTION("vitrine::group_norm", std::vector<c10::IValue>({x, norm.groups, gamma, beta}));
  return ChannelsLastGroupNorm::apply(x, gamma, beta, norm.groups, norm.eps);
}

}  // namespace vitrine
