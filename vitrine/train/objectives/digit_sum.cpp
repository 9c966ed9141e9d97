// The digits of a sum, each with its own cross-entropy: logits (B, kSumLogits), targets (B, 3).
#include <torch/torch.h>

#include "vitrine/models/addition.h"
#include "vitrine/ops/grouped_cross_entropy.h"
#include "vitrine/train/objective.h"

namespace vitrine {
namespace {

/// A sum is right if all its digits are.
class DigitSum : public OutputObjective {
 public:
  using OutputObjective::OutputObjective;

  std::vector<Metric> metrics() const override { return {loss_metric(), accuracy_metric()}; }
  Metric selection_metric() const override { return accuracy_metric(); }
  Metrics batch_metrics(const torch::Tensor& output, const torch::Tensor& targets) const override {
    const auto truth = targets.matmul(torch::tensor({100, 10, 1}, targets.options()));
    return {{accuracy_metric().name, decode_sums(output).eq(truth).sum().item<double>()}};
  }

 protected:
  torch::Tensor output_loss(const torch::Tensor& output, const torch::Tensor& targets,
                            double smoothing) const override {
    return grouped_cross_entropy(output.to(torch::kFloat), targets, kSumDigitValues, smoothing);
  }
};

torch::Tensor random_digits(const torch::Tensor& output) {
  const auto options = torch::TensorOptions(torch::kLong).device(output.device());
  std::vector<torch::Tensor> digits;
  for (const auto values : kSumDigitValues)
    digits.push_back(torch::randint(values, {output.size(0)}, options));
  return torch::stack(digits, 1);
}

}  // namespace

TaskEntry digit_sum_task() {
  return {.task = Task::DigitSum,
          .models = "a model whose name begins with addition_",
          .objective = [](const Splits&,
                          const ObjectiveSettings& settings) -> std::unique_ptr<Objective> {
            return std::make_unique<DigitSum>(settings.label_smoothing);
          },
          .check_fit = [](Model& model, const Splits& data) { try_example(model, data); },
          .random_targets = random_digits};
}

}  // namespace vitrine
