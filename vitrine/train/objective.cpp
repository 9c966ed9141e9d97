#include "vitrine/train/objective.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                            double smoothing) {
  check(output.dim() == 2 && output.size(0) == targets.size(0),
        "classification: output {} does not fit targets {}", fmt::join(output.sizes(), "x"),
        fmt::join(targets.sizes(), "x"));
  namespace F = torch::nn::functional;
  return F::cross_entropy(output.to(torch::kFloat), targets,
                          F::CrossEntropyFuncOptions().label_smoothing(smoothing));
}

}  // namespace

torch::Tensor Classification::loss(const torch::Tensor& output,
                                   const torch::Tensor& targets) const {
  return cross_entropy(output, targets, label_smoothing_);
}

torch::Tensor Classification::plain_loss(const torch::Tensor& output,
                                         const torch::Tensor& targets) const {
  return cross_entropy(output, targets, /*smoothing=*/0);
}

Sums Classification::measure(const torch::Tensor& output, const torch::Tensor& targets) const {
  const auto truth = targets.dim() == 2 ? targets.argmax(1) : targets;
  return {{"accuracy", output.argmax(1).eq(truth).sum().item<double>()}};
}

}  // namespace vitrine
