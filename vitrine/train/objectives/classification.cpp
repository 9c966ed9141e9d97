#include "vitrine/train/objectives/classification.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/train/confusion_matrix.h"
#include "vitrine/train/objectives/distillation.h"
#include "vitrine/train/predictions.h"
#include "vitrine/train/run_folder.h"

namespace vitrine {
namespace {

/// The confusion matrix, precision and recall of each class, and what was answered to each example.
class ClassificationReport : public Report {
 public:
  explicit ClassificationReport(const std::vector<std::string>& classes)
      : matrix_(classes), predictions_{classes} {}

  void add(const torch::Tensor& output, const torch::Tensor& targets,
           std::span<const int64_t> indices) override {
    const auto truths = targets.cpu(), answers = output.argmax(1).cpu();            // (B)
    const auto probabilities = output.to(torch::kCPU, torch::kFloat32).softmax(1);  // (B, N)
    const auto truth = truths.accessor<int64_t, 1>(), predicted = answers.accessor<int64_t, 1>();
    const auto probability = probabilities.accessor<float, 2>();
    for (int64_t i = 0; i < truth.size(0); ++i) {
      matrix_.add(truth[i], predicted[i]);
      predictions_.examples.push_back({.index = indices[i],
                                       .truth = truth[i],
                                       .predicted = predicted[i],
                                       .probability = probability[i][predicted[i]],
                                       .truth_probability = probability[i][truth[i]]});
    }
  }

  std::string text() const override { return classification_report(matrix_); }

  nlohmann::ordered_json json() const override {
    return {{"report", nlohmann::ordered_json::parse(classification_report_json(matrix_))}};
  }

  void save(const fs::path& folder) const override {
    write_file_atomically(folder / "classification_report.txt", text());
    write_predictions(RunFolder::open(folder).predictions(), predictions_);
    plot::Figure{.panels = {confusion_heat_map(matrix_, "Test set")}}.save(folder /
                                                                           "confusion_matrix");
  }

 private:
  ConfusionMatrix matrix_;
  TestPredictions predictions_;
};

// Among ten classes or fewer, half of all guesses would be right.
constexpr size_t kTopClasses = 5, kMaxClassesWithoutTop = 10;

Metric top_accuracy_metric() {
  return {.name = "accuracy_top5", .unit = "%", .higher_is_better = true};
}

/// Weights inversely proportional to how many training examples a class has: the sum over all
/// examples is their number. Those of classes without examples are 0.
torch::Tensor balanced_weights(const std::vector<int64_t>& counts) {
  const auto n = torch::tensor(counts, torch::kDouble);
  const auto present = n.gt(0).sum();
  return torch::where(n.gt(0), n.sum() / (present * n), 0.0).to(torch::kFloat);  // (N)
}

void check_output(const torch::Tensor& output, const torch::Tensor& targets) {
  check(output.dim() == 2 && output.size(0) == targets.size(0),
        "classification: output {} does not fit targets {}", fmt::join(output.sizes(), "x"),
        fmt::join(targets.sizes(), "x"));
}

/// The data's images and classes must be those of the model.
void check_images(Model& model, const Splits& data) {
  const auto shape = model.image_shape();
  check(shape.has_value(), "train: the model classifies, but takes no images");
  const auto classes = static_cast<int64_t>(data.classes.size());
  check(shape->classes == classes,
        "train: the model has {} classes, the data has {}; set model.classes={}", shape->classes,
        classes, classes);
  const auto example = data.train->load({0}, /*epoch=*/-1).inputs;
  check(example.size(1) == shape->channels && example.size(2) == shape->image &&
            example.size(3) == shape->image,
        "train: the model takes {} of {} x {} pixels, the data gives {} of {} x {}; set "
        "model.image={} and model.channels={}, or data.preprocess.image={}",
        counted(shape->channels, "channel"), shape->image, shape->image, example.size(1),
        example.size(2), example.size(3), example.size(2), example.size(1), shape->image);
}

}  // namespace

Classification::Classification(const Splits& data, const ObjectiveSettings& settings)
    : classes_(data.classes), label_smoothing_(settings.label_smoothing) {
  if (settings.class_weights == ClassWeights::Balanced)
    class_weights_ = balanced_weights(data.class_counts);
}

LossAndOutput Classification::loss(Model& model, const Batch& batch) const {
  auto output = model.forward(batch.inputs);
  auto loss = label_loss(output, batch.targets);
  return {std::move(loss), std::move(output)};
}

LossAndOutput Classification::eval_loss(Model& model, const Batch& batch) const {
  auto output = model.forward(batch.inputs);
  check_output(output, batch.targets);
  auto loss = cross_entropy(output, batch.targets, /*smoothing=*/0);
  return {std::move(loss), std::move(output)};
}

torch::Tensor Classification::label_loss(const torch::Tensor& logits,
                                         const torch::Tensor& targets) const {
  check_output(logits, targets);
  return cross_entropy(
      logits, targets, label_smoothing_,
      class_weights_.defined() ? class_weights_.to(logits.device()) : class_weights_);
}

std::vector<Metric> Classification::metrics() const {
  if (!counts_top()) return {loss_metric(), accuracy_metric()};
  return {loss_metric(), accuracy_metric(), top_accuracy_metric()};
}

Metrics Classification::batch_metrics(const torch::Tensor& output,
                                      const torch::Tensor& targets) const {
  const auto truth = targets.dim() == 2 ? targets.argmax(1) : targets;
  Metrics sums = {{accuracy_metric().name, output.argmax(1).eq(truth).sum().item<double>()}};
  if (counts_top()) {
    const auto top = std::get<1>(output.topk(kTopClasses, 1));  // (B, 5)
    sums.emplace_back(top_accuracy_metric().name, top.eq(truth.unsqueeze(1)).sum().item<double>());
  }
  return sums;
}

std::unique_ptr<Report> Classification::make_report() const {
  return std::make_unique<ClassificationReport>(classes_);
}

bool Classification::counts_top() const { return classes_.size() > kMaxClassesWithoutTop; }

TaskEntry classification_task() {
  return {.task = Task::Classes,
          .models = "a model that takes images",
          .objective = [](const Splits& data,
                          const ObjectiveSettings& settings) -> std::unique_ptr<Objective> {
            if (settings.teacher) return std::make_unique<Distillation>(data, settings);
            return std::make_unique<Classification>(data, settings);
          },
          .check_fit = check_images,
          .random_targets =
              [](const torch::Tensor& output) {
                const auto options = torch::TensorOptions(torch::kLong).device(output.device());
                return torch::randint(output.size(1), {output.size(0)}, options);
              },
          .has_classes = true};
}

}  // namespace vitrine
