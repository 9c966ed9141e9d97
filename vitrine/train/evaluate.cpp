#include "vitrine/train/evaluate.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/loader.h"
#include "vitrine/models/model.h"

namespace vitrine {

void Averages::add(double mean_loss, const Sums& sums, int64_t counted) {
  loss_sum_ += mean_loss * static_cast<double>(counted);
  counted_ += counted;
  if (sums_.empty())
    for (const auto& [name, value] : sums) sums_.emplace_back(name, 0);
  for (size_t i = 0; i < sums.size(); ++i) sums_[i].second += sums[i].second;
}

double Averages::loss() const {
  return counted_ > 0 ? loss_sum_ / static_cast<double>(counted_) : 0;
}

double Averages::mean(const std::string& name) const {
  if (name == "loss") return loss();
  for (const auto& [known, value] : means())
    if (known == name) return value;
  return 0;
}

Sums Averages::means() const {
  auto result = sums_;
  for (auto& [name, value] : result) value /= std::max<double>(1, static_cast<double>(counted_));
  return result;
}

std::vector<double> Averages::sums() const {
  std::vector<double> result = {static_cast<double>(counted_), loss_sum_};
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
  result.counted_ = static_cast<int64_t>(sums.at(0));
  result.loss_sum_ = sums.at(1);
  for (size_t i = 0; i < names.size(); ++i) result.sums_.emplace_back(names[i], sums.at(2 + i));
  return result;
}

Sums scores_of(const Averages& averages, const Objective& objective) {
  Sums scores = {{"loss", averages.loss()}};
  for (const auto& more : {averages.means(), objective.derived(averages.loss())})
    scores.insert(scores.end(), more.begin(), more.end());
  return scores;
}

double watched_score(const Averages& averages, const Objective& objective) {
  for (const auto& [name, score] : scores_of(averages, objective))
    if (name == objective.watched()) return score;
  fail("scores: '{}' was not measured", objective.watched());
}

std::string score_text(const std::string& name, double score) {
  if (name == "accuracy") return fmt::format("{:.2f} %", 100 * score);
  return std::abs(score) >= 0.01 ? fmt::format("{:.4f}", score) : fmt::format("{:.3g}", score);
}

std::string scores_text(const Sums& scores, const std::string& watched) {
  const auto found = std::find_if(scores.begin(), scores.end(),
                                  [&](const auto& score) { return score.first == watched; });
  check(found != scores.end(), "scores: '{}' was not measured", watched);
  std::vector<std::string> others;  // without the watched one under another name
  for (const auto& [name, score] : scores)
    if (score != found->second) others.push_back(name + " " + score_text(name, score));
  const auto first = watched + " " + score_text(watched, found->second);
  return others.empty() ? first : fmt::format("{} ({})", first, fmt::join(others, ", "));
}

Averages evaluate(Model& model, const BatchSource& source, const Objective& objective,
                  const EvaluateOptions& options) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.is_training();
  model.eval();
  Averages averages;
  const bool hurried = options.most_seconds > 0;
  Loader loader(source, {.batch = options.batch, .shuffle = hurried, .workers = options.workers});
  Progress progress(options.label, source.size(), "examples");
  int64_t examples = 0;
  while (auto batch = loader.next()) {
    const auto targets = batch->targets.to(options.device);
    const auto output = model.forward(batch->inputs.to(options.device));
    averages.add(objective.plain_loss(output, targets).item<double>(),
                 objective.measure(output, targets), objective.counted(targets));
    if (options.on_batch) options.on_batch(output, targets);
    progress.update(examples += batch->size());
    if (hurried && progress.seconds() >= options.most_seconds) break;
  }
  model.train(was_training);
  return averages;
}

Averages evaluate_classes(Model& model, const BatchSource& source, EvaluateOptions options,
                          ConfusionMatrix& matrix) {
  options.on_batch = [&matrix, then = options.on_batch](const torch::Tensor& output,
                                                        const torch::Tensor& targets) {
    if (then) then(output, targets);
    const auto predicted = output.argmax(1).cpu(), truth = targets.cpu();
    for (int64_t i = 0; i < truth.size(0); ++i)
      matrix.add(truth[i].item<int64_t>(), predicted[i].item<int64_t>());
  };
  return evaluate(model, source, Classification(/*label_smoothing=*/0), options);
}

}  // namespace vitrine
