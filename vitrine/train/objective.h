#pragma once

#include <torch/types.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/data/batch.h"
#include "vitrine/train/config.h"
#include "vitrine/train/metric.h"

namespace vitrine {

class Model;
class Teacher;

/// What an objective shows of a split beyond its metrics.
class Report {
 public:
  virtual ~Report() = default;
  /// Takes note of a batch: the model's output and the targets, shaped as the task says, and which
  /// examples of the split they are.
  virtual void add(const torch::Tensor& output, const torch::Tensor& targets,
                   std::span<const int64_t> indices) = 0;
  /// For a terminal; ends with a line break.
  virtual std::string text() const = 0;
  /// An object, whose keys stand beside those of the metrics.
  virtual nlohmann::ordered_json json() const = 0;
  /// Leaves files in a run folder: the text first, then figures.
  virtual void save(const fs::path& folder) const = 0;
};

/// The mean loss of a batch and the model's output that it was computed from.
struct LossAndOutput {
  torch::Tensor loss, output;
};

/// What is learned: the loss of a batch and the metrics of a split. The loss may ask the model as
/// it likes: for features, several times, or beside another model.
class Objective {
 public:
  virtual ~Objective() = default;
  /// The mean loss over the batch, to be minimised.
  virtual LossAndOutput loss(Model& model, const Batch& batch) const = 0;
  /// The mean loss without regularisation, for evaluation.
  virtual LossAndOutput eval_loss(Model& model, const Batch& batch) const = 0;

  /// Every metric, in the order in which they are reported; the first is the loss (kLossName).
  virtual std::vector<Metric> metrics() const = 0;
  /// The metric that decides which checkpoint is best.
  virtual Metric selection_metric() const = 0;
  /// Metrics that are means over what is counted: their sums over the batch.
  virtual Metrics batch_metrics(const torch::Tensor& /*output*/,
                                const torch::Tensor& /*targets*/) const {
    return {};
  }
  /// What the mean loss and the batch metrics are means over: examples, unless told otherwise.
  virtual int64_t target_count(const torch::Tensor& targets) const { return targets.size(0); }
  /// Metrics that follow from the mean loss over a split.
  virtual Metrics derived_metrics(double /*mean_loss*/) const { return {}; }

  /// A checksum of what decides the loss beside recipe, model and batch; a run is resumed only with
  /// the same. Empty: there is nothing of that kind.
  virtual std::string checksum() const { return ""; }

  /// An empty report; null where the metrics say all.
  virtual std::unique_ptr<Report> make_report() const { return nullptr; }
};

/// An objective that sees of the model only what `forward` gives.
class OutputObjective : public Objective {
 public:
  explicit OutputObjective(double label_smoothing) : label_smoothing_(label_smoothing) {}
  LossAndOutput loss(Model& model, const Batch& batch) const final;
  LossAndOutput eval_loss(Model& model, const Batch& batch) const final;

 protected:
  /// The mean over the batch; `smoothing` is the fraction of a label spread over all choices.
  virtual torch::Tensor output_loss(const torch::Tensor& output, const torch::Tensor& targets,
                                    double smoothing) const = 0;

 private:
  LossAndOutput with_smoothing(Model& model, const Batch& batch, double smoothing) const;

  double label_smoothing_;
};

/// The metrics that several objectives have.
Metric loss_metric();
Metric accuracy_metric();

/// Cross-entropy of logits (B, N) with targets (B) int64 or (B, N) probabilities, without those
/// that are kIgnoreIndex; `class_weights` (N), or undefined, as in torch's CrossEntropyLoss.
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets,
                            double smoothing, const torch::Tensor& class_weights = {});

/// What a recipe can set of an objective.
struct ObjectiveSettings {
  double label_smoothing = 0;
  ClassWeights class_weights = ClassWeights::None;
  std::shared_ptr<const Teacher> teacher{};  // to learn from beside the labels; null: none
  DistillationConfig distillation{};

  ObjectiveSettings(double smoothing, ClassWeights weights = ClassWeights::None)
      : label_smoothing(smoothing), class_weights(weights) {}
  explicit ObjectiveSettings(const TrainConfig& config,
                             std::shared_ptr<const Teacher> teacher_of_run = nullptr)
      : label_smoothing(config.label_smoothing),
        class_weights(config.class_weights),
        teacher(std::move(teacher_of_run)),
        distillation(config.distillation) {}
};

/// What training needs to know of a task. One file per task, in objectives/.
struct TaskEntry {
  Task task;
  std::string models;  // which models do it, for those who chose another
  /// Throws if labels cannot be smoothed.
  std::unique_ptr<Objective> (*objective)(const Splits& data, const ObjectiveSettings& settings);
  /// Throws if the model does the task but does not fit the data.
  void (*check_fit)(Model& model, const Splits& data);
  /// Targets for a batch of outputs, for benchmarks.
  torch::Tensor (*random_targets)(const torch::Tensor& output);
  bool has_classes = false;  // each example has one class: to weight, to learn from a teacher
};

/// The entry of a task; a new one is a line in objectives/tasks.cpp.
const TaskEntry& task_entry(Task task);

/// The objective of the data's task; throws if its labels cannot be smoothed, its classes not be
/// weighted or not be learned from a teacher.
std::unique_ptr<Objective> make_objective(const Splits& data, const ObjectiveSettings& settings);

/// Random targets for a batch of `output`, for benchmarks.
torch::Tensor random_targets(Task task, const torch::Tensor& output);

/// Runs one example through the model, which throws if it does not take it; gives the output.
torch::Tensor try_example(Model& model, const Splits& data);

}  // namespace vitrine
