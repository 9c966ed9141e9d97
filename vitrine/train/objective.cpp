#include "vitrine/train/objective.h"

#include <torch/torch.h>

#include <cmath>
#include <numbers>

#include "vitrine/core/error.h"
#include "vitrine/models/addition.h"
#include "vitrine/ops/grouped_cross_entropy.h"

namespace vitrine {
namespace {

torch::Tensor smooth_cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                                   double smoothing) {
  namespace F = torch::nn::functional;
  const auto options =
      F::CrossEntropyFuncOptions().ignore_index(kNotCounted).label_smoothing(smoothing);
  return F::cross_entropy(output.to(torch::kFloat), targets, options);
}

}  // namespace

torch::Tensor Classification::cross_entropy(const torch::Tensor& output,
                                            const torch::Tensor& targets, double smoothing) const {
  check(output.dim() == 2 && output.size(0) == targets.size(0),
        "classification: output {} does not fit targets {}", fmt::join(output.sizes(), "x"),
        fmt::join(targets.sizes(), "x"));
  return smooth_cross_entropy(output, targets, smoothing);
}

Sums Classification::measure(const torch::Tensor& output, const torch::Tensor& targets) const {
  const auto truth = targets.dim() == 2 ? targets.argmax(1) : targets;
  return {{"accuracy", output.argmax(1).eq(truth).sum().item<double>()}};
}

torch::Tensor DigitSum::cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                                      double smoothing) const {
  return grouped_cross_entropy(output.to(torch::kFloat), targets, kSumDigitValues, smoothing);
}

Sums DigitSum::measure(const torch::Tensor& output, const torch::Tensor& targets) const {
  const auto truth = targets.matmul(torch::tensor({100, 10, 1}, targets.options()));
  return {{"accuracy", sums_of_scores(output).eq(truth).sum().item<double>()}};
}

torch::Tensor NextValue::loss(const torch::Tensor& output, const torch::Tensor& targets) const {
  check(output.sizes() == targets.sizes(), "next value: output {} does not fit targets {}",
        fmt::join(output.sizes(), "x"), fmt::join(targets.sizes(), "x"));
  return torch::mse_loss(output.to(torch::kFloat), targets);
}

Sums NextValue::measure(const torch::Tensor& output, const torch::Tensor& targets) const {
  const auto mean = loss(output, targets).item<double>();
  return {{"mse", mean * static_cast<double>(counted(targets))}};
}

torch::Tensor NextToken::cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                                       double smoothing) const {
  check(output.dim() == 3 && output.sizes().slice(0, 2) == targets.sizes(),
        "next token: output {} does not fit targets {}", fmt::join(output.sizes(), "x"),
        fmt::join(targets.sizes(), "x"));
  return smooth_cross_entropy(output.flatten(0, 1), targets.flatten(), smoothing);
}

int64_t NextToken::counted(const torch::Tensor& targets) const {
  return targets.ne(kNotCounted).sum().item<int64_t>();
}

Sums NextToken::derived(double mean_loss) const { return {{"perplexity", std::exp(mean_loss)}}; }

Sums NextByte::derived(double mean_loss) const {
  return {{"bits_per_dim", mean_loss / std::numbers::ln2}};
}

std::unique_ptr<Objective> make_objective(Task task, double label_smoothing) {
  switch (task) {
    case Task::Classes:
      return std::make_unique<Classification>(label_smoothing);
    case Task::DigitSum:
      return std::make_unique<DigitSum>(label_smoothing);
    case Task::NextValue:
      check(label_smoothing == 0,
            "train: a number has no label to smooth; set train.label_smoothing=0");
      return std::make_unique<NextValue>();
    case Task::NextToken:
      return std::make_unique<NextToken>(label_smoothing);
    case Task::NextByte:
      return std::make_unique<NextByte>(label_smoothing);
  }
  fail("objective: task {} is not known", static_cast<int>(task));
}

torch::Tensor random_targets(Task task, const torch::Tensor& output) {
  const auto B = output.size(0);
  const auto options = torch::TensorOptions(torch::kLong).device(output.device());
  switch (task) {
    case Task::Classes:
      return torch::randint(output.size(1), {B}, options);
    case Task::DigitSum: {
      std::vector<torch::Tensor> digits;
      for (const auto values : kSumDigitValues)
        digits.push_back(torch::randint(values, {B}, options));
      return torch::stack(digits, 1);
    }
    case Task::NextValue:
      return torch::randn({B}, output.device());
    case Task::NextToken:
    case Task::NextByte:
      return torch::randint(output.size(2), {B, output.size(1)}, options);
  }
  fail("objective: task {} is not known", static_cast<int>(task));
}

}  // namespace vitrine
