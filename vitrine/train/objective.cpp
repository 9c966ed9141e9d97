#include "vitrine/train/objective.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/models/addition.h"

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

torch::Tensor digits_cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                                   double smoothing) {
  check(targets.dim() == 2 && targets.size(1) == std::ssize(kSumDigitValues) && output.dim() == 2 &&
            output.size(1) == kSumScores,
        "digit sum: output {} does not fit targets {}", fmt::join(output.sizes(), "x"),
        fmt::join(targets.sizes(), "x"));
  torch::Tensor total;
  int64_t first = 0;
  for (size_t digit = 0; digit < kSumDigitValues.size(); ++digit) {
    const auto values = kSumDigitValues[digit];
    const auto loss = cross_entropy(output.narrow(1, first, values),
                                    targets.select(1, static_cast<int64_t>(digit)), smoothing);
    total = total.defined() ? total + loss : loss;
    first += values;
  }
  return total / static_cast<double>(kSumDigitValues.size());
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

torch::Tensor DigitSum::loss(const torch::Tensor& output, const torch::Tensor& targets) const {
  return digits_cross_entropy(output, targets, label_smoothing_);
}

torch::Tensor DigitSum::plain_loss(const torch::Tensor& output,
                                   const torch::Tensor& targets) const {
  return digits_cross_entropy(output, targets, /*smoothing=*/0);
}

Sums DigitSum::measure(const torch::Tensor& output, const torch::Tensor& targets) const {
  const auto truth = targets.matmul(torch::tensor({100, 10, 1}, targets.options()));
  return {{"accuracy", sums_of_scores(output).eq(truth).sum().item<double>()}};
}

std::unique_ptr<Objective> make_objective(Task task, double label_smoothing) {
  switch (task) {
    case Task::Classes:
      return std::make_unique<Classification>(label_smoothing);
    case Task::DigitSum:
      return std::make_unique<DigitSum>(label_smoothing);
  }
  fail("objective: task {} is not known", static_cast<int>(task));
}

torch::Tensor random_targets(Task task, const torch::Tensor& output) {
  const auto B = output.size(0);
  const auto options = torch::TensorOptions(torch::kLong).device(output.device());
  if (task == Task::Classes) return torch::randint(output.size(1), {B}, options);
  std::vector<torch::Tensor> digits;
  for (const auto values : kSumDigitValues) digits.push_back(torch::randint(values, {B}, options));
  return torch::stack(digits, 1);
}

}  // namespace vitrine
