// The next number of a sequence: mean squared error, also reported as "mse". Output and targets
// (B).
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/train/objective.h"

namespace vitrine {
namespace {

class NextValue : public OutputObjective {
 public:
  NextValue() : OutputObjective(/*label_smoothing=*/0) {}

  std::vector<Metric> metrics() const override {
    auto loss = loss_metric();
    loss.log_scale = true;
    return {loss, selection_metric()};
  }
  Metric selection_metric() const override { return {.name = "mse", .log_scale = true}; }
  Metrics batch_metrics(const torch::Tensor& output, const torch::Tensor& targets) const override {
    const auto mean = output_loss(output, targets, /*smoothing=*/0).item<double>();
    return {{selection_metric().name, mean * static_cast<double>(target_count(targets))}};
  }

 protected:
  torch::Tensor output_loss(const torch::Tensor& output, const torch::Tensor& targets,
                            double /*smoothing*/) const override {
    check(output.sizes() == targets.sizes(), "next value: output {} does not fit targets {}",
          fmt::join(output.sizes(), "x"), fmt::join(targets.sizes(), "x"));
    return torch::mse_loss(output.to(torch::kFloat), targets);
  }
};

}  // namespace

TaskEntry next_value_task() {
  return {.task = Task::NextValue,
          .models = "a model whose name begins with wave_",
          .objective = [](const Splits&,
                          const ObjectiveSettings& settings) -> std::unique_ptr<Objective> {
            check(settings.label_smoothing == 0,
                  "train: a number has no label to smooth; set train.label_smoothing=0");
            return std::make_unique<NextValue>();
          },
          .check_fit = [](Model& model, const Splits& data) { try_example(model, data); },
          .random_targets =
              [](const torch::Tensor& output) {
                return torch::randn({output.size(0)}, output.device());
              }};
}

}  // namespace vitrine
