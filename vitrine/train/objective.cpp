#include "vitrine/train/objective.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/models/addition.h"

namespace vitrine {
namespace {

torch::Tensor smooth_cross_entropy(const torch::Tensor& output, const torch::Tensor& targets,
                                   double smoothing) {
  namespace F = torch::nn::functional;
  return F::cross_entropy(output.to(torch::kFloat), targets,
                          F::CrossEntropyFuncOptions().label_smoothing(smoothing));
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
  constexpr auto kPlaces = std::ssize(kSumDigitValues);
  check(targets.dim() == 2 && targets.size(1) == kPlaces && output.dim() == 2 &&
            output.size(1) == kSumScores,
        "digit sum: output {} does not fit targets {}", fmt::join(output.sizes(), "x"),
        fmt::join(targets.sizes(), "x"));
  torch::Tensor total;
  for (int64_t place = 0, first = 0; place < kPlaces; ++place) {
    const auto values = kSumDigitValues[place];
    const auto loss =
        smooth_cross_entropy(output.narrow(1, first, values), targets.select(1, place), smoothing);
    total = total.defined() ? total + loss : loss;
    first += values;
  }
  return total / static_cast<double>(kPlaces);
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
