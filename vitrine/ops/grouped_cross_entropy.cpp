#include "vitrine/ops/grouped_cross_entropy.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/kernels/grouped_cross_entropy.h"
#include "vitrine/ops/cpu_kernel.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// Works out the gradient along with the loss: both need the same exponentials.
struct GroupedCrossEntropy : torch::autograd::Function<GroupedCrossEntropy> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& logits,
                               const torch::Tensor& targets, std::span<const int64_t> groups,
                               double smoothing) {
    const auto x = logits.contiguous(), y = targets.contiguous();
    auto gradient = torch::empty_like(x);
    auto loss = torch::empty({}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "grouped_cross_entropy", [&] {
      const auto count = static_cast<double>(y.numel());
      const double sum = kernels::grouped_cross_entropy(
          kernels::GroupedLogits<scalar_t>{x.data_ptr<scalar_t>(), y.data_ptr<int64_t>(), x.size(0),
                                           groups, static_cast<scalar_t>(smoothing)},
          static_cast<scalar_t>(1 / count), gradient.data_ptr<scalar_t>());
      *loss.data_ptr<scalar_t>() = static_cast<scalar_t>(sum / count);
    });
    ctx->save_for_backward({gradient});
    return loss;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    return {ctx->get_saved_variables()[0] * gradients[0], {}, {}, {}};
  }
};

void check_groups(const torch::Tensor& logits, const torch::Tensor& targets,
                  std::span<const int64_t> groups) {
  const auto width = std::accumulate(groups.begin(), groups.end(), int64_t{0});
  check(logits.dim() == 2 && logits.size(1) == width && targets.dim() == 2 &&
            targets.size(0) == logits.size(0) &&
            targets.size(1) == static_cast<int64_t>(groups.size()),
        "grouped_cross_entropy: logits {} and targets {} do not fit groups of {}",
        fmt::join(logits.sizes(), "x"), fmt::join(targets.sizes(), "x"), fmt::join(groups, ", "));
  check(targets.scalar_type() == torch::kLong,
        "grouped_cross_entropy: targets are {}, they must be int64",
        torch::toString(targets.scalar_type()));
}

/// Throws if a target names a choice that its group does not have.
void check_targets(const torch::Tensor& targets, std::span<const int64_t> groups) {
  const auto y = targets.contiguous();
  const auto* target = y.data_ptr<int64_t>();
  for (int64_t row = 0; row < y.size(0); ++row)
    for (const auto n : groups) {
      check(*target >= 0 && *target < n,
            "grouped_cross_entropy: target {} is not one of {} choices", *target, n);
      ++target;
    }
}

}  // namespace

torch::Tensor grouped_cross_entropy_reference(const torch::Tensor& logits,
                                              const torch::Tensor& targets,
                                              std::span<const int64_t> groups, double smoothing) {
  namespace F = torch::nn::functional;
  check_groups(logits, targets, groups);
  const auto options = F::CrossEntropyFuncOptions().label_smoothing(smoothing);
  torch::Tensor total = torch::zeros({}, logits.options());
  int64_t first = 0, group = 0;
  for (const auto n : groups) {
    total =
        total + F::cross_entropy(logits.narrow(1, first, n), targets.select(1, group++), options);
    first += n;
  }
  return total / static_cast<double>(groups.size());
}

torch::Tensor grouped_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets,
                                    std::span<const int64_t> groups, double smoothing) {
  check_groups(logits, targets, groups);
  RECORD_FUNCTION("vitrine::grouped_cross_entropy", std::vector<c10::IValue>({logits}));
  if (!has_cpu_kernel(logits) || logits.size(0) == 0)
    return grouped_cross_entropy_reference(logits, targets, groups, smoothing);
  check_targets(targets, groups);
  return GroupedCrossEntropy::apply(logits, targets, groups, smoothing);
}

}  // namespace vitrine
