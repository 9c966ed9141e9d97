#include "vitrine/train/evaluate.h"

#include <torch/torch.h>

#include "vitrine/core/progress.h"
#include "vitrine/data/loader.h"
#include "vitrine/models/model.h"

namespace vitrine {

void Averages::add(double mean_loss, const Sums& sums, int64_t examples) {
  loss_sum_ += mean_loss * static_cast<double>(examples);
  examples_ += examples;
  if (sums_.empty())
    for (const auto& [name, value] : sums) sums_.emplace_back(name, 0);
  for (size_t i = 0; i < sums.size(); ++i) sums_[i].second += sums[i].second;
}

double Averages::loss() const {
  return examples_ > 0 ? loss_sum_ / static_cast<double>(examples_) : 0;
}

double Averages::mean(const std::string& name) const {
  for (const auto& [known, value] : means())
    if (known == name) return value;
  return 0;
}

Sums Averages::means() const {
  auto result = sums_;
  for (auto& [name, value] : result) value /= std::max<double>(1, static_cast<double>(examples_));
  return result;
}

std::vector<double> Averages::sums() const {
  std::vector<double> result = {static_cast<double>(examples_), loss_sum_};
  for (const auto& [name, value] : sums_) result.push_back(value);
  return result;
}

std::vector<std::string> Averages::names() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : sums_) result.push_back(name);
  return result;
}

Averages Averages::restored(const std::vector<double>& sums,
                            const std::vector<std::string>& names) {
  Averages result;
  result.examples_ = static_cast<int64_t>(sums.at(0));
  result.loss_sum_ = sums.at(1);
  for (size_t i = 0; i < names.size(); ++i) result.sums_.emplace_back(names[i], sums.at(2 + i));
  return result;
}

Averages evaluate(Model& model, const BatchSource& source, const Objective& objective,
                  const EvaluateOptions& options) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.is_training();
  model.eval();
  Averages averages;
  Loader loader(source, {.batch = options.batch, .workers = options.workers});
  Progress progress(options.label, source.size(), "examples");
  while (auto batch = loader.next()) {
    const auto targets = batch->targets.to(options.device);
    const auto output = model.forward(batch->inputs.to(options.device));
    averages.add(objective.plain_loss(output, targets).item<double>(),
                 objective.measure(output, targets), batch->size());
    if (options.on_batch) options.on_batch(output, targets);
    progress.update(averages.examples());
  }
  model.train(was_training);
  return averages;
}

Averages evaluate_classes(Model& model, const BatchSource& source, EvaluateOptions options,
                          ConfusionMatrix& matrix) {
  options.on_batch = [&](const torch::Tensor& output, const torch::Tensor& targets) {
    const auto predicted = output.argmax(1).cpu(), truth = targets.cpu();
    for (int64_t i = 0; i < truth.size(0); ++i)
      matrix.add(truth[i].item<int64_t>(), predicted[i].item<int64_t>());
  };
  return evaluate(model, source, Classification(/*label_smoothing=*/0), options);
}

}  // namespace vitrine
