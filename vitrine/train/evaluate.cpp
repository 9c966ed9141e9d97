#include "vitrine/train/evaluate.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/loader.h"
#include "vitrine/models/model.h"
#include "vitrine/train/distributed/batch_results.h"

namespace vitrine {

void MetricAccumulator::add(double mean_loss, const Metrics& sums, int64_t targets) {
  loss_sum_ += mean_loss * static_cast<double>(targets);
  target_count_ += targets;
  if (sums_.empty())
    for (const auto& [name, value] : sums) sums_.emplace_back(name, 0);
  check(sums.size() == sums_.size(),
        "metrics: {} of them were stored and {} are measured now; train with the version of the "
        "program that began this run",
        sums_.size(), sums.size());
  for (size_t i = 0; i < sums.size(); ++i) sums_[i].second += sums[i].second;
}

double MetricAccumulator::loss() const {
  return target_count_ > 0 ? loss_sum_ / static_cast<double>(target_count_) : 0;
}

Metrics MetricAccumulator::metrics(const Objective& objective) const {
  Metrics all = {{kLossName, loss()}};
  const auto count = std::max<double>(1, static_cast<double>(target_count_));
  for (const auto& [name, sum] : sums_) all.emplace_back(name, sum / count);
  for (auto& derived : objective.derived_metrics(loss())) all.push_back(std::move(derived));
  return all;
}

std::vector<double> MetricAccumulator::sums() const {
  std::vector<double> result = {static_cast<double>(target_count_), loss_sum_};
  for (const auto& [name, value] : sums_) result.push_back(value);
  return result;
}

std::vector<std::string> MetricAccumulator::names() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : sums_) result.push_back(name);
  return result;
}

MetricAccumulator MetricAccumulator::restored(const std::vector<double>& sums,
                                              const std::vector<std::string>& names) {
  check(sums.size() == names.size() + 2, "resume: {} sums of {} metrics, expected {}", sums.size(),
        names.size(), names.size() + 2);
  MetricAccumulator result;
  result.target_count_ = static_cast<int64_t>(sums.at(0));
  result.loss_sum_ = sums.at(1);
  for (size_t i = 0; i < names.size(); ++i) result.sums_.emplace_back(names[i], sums.at(2 + i));
  return result;
}

Evaluation evaluate(Model& model, const BatchSource& source, const Objective& objective,
                    const EvaluateOptions& options) {
  const torch::NoGradGuard no_grad;
  const bool was_training = model.is_training();
  model.eval();
  const auto& group = WorkerGroup::or_alone(options.group);
  const bool time_limited = options.max_seconds > 0;
  const auto total =
      options.max_examples > 0 ? std::min(options.max_examples, source.size()) : source.size();
  Loader loader(source,
                {.batch = options.batch,
                 .shuffle = time_limited || total < source.size(),
                 .workers = options.workers,
                 .takes = [&](int64_t step) { return step % group.size() == group.rank(); }});
  const std::span<const int64_t> order(loader.order());
  Progress progress(options.label, total, "examples");
  std::vector<BatchResult> mine;
  bool stopped = false;
  for (auto step = group.rank(); step * options.batch < total && !stopped; step += group.size()) {
    const auto batch = loader.next();
    const auto first = step * options.batch, size = std::min(batch->size(), total - first);
    const Batch there{batch->inputs.narrow(0, 0, size).to(options.device),
                      batch->targets.narrow(0, 0, size).to(options.device)};
    const auto [loss, output] = objective.eval_loss(model, there);
    mine.push_back({.step = step,
                    .loss = loss.item<double>(),
                    .targets = objective.target_count(there.targets),
                    .examples = size,
                    .sums = objective.batch_metrics(output, there.targets)});
    for (auto* report : options.reports)
      report->add(output, there.targets, order.subspan(first, size));
    if (group.leads()) progress.update(std::min(total, first + size * group.size()));
    if (time_limited && progress.seconds() >= options.max_seconds) break;
    stopped = options.stop_on_interrupt && interrupted();
  }
  model.train(was_training);
  const auto all = gather_results(group, std::move(mine), stopped);
  MetricAccumulator sums;
  int64_t examples = 0;
  for (const auto& b : all.batches) {
    sums.add(b.loss, b.sums, b.targets);
    examples += b.examples;
  }
  return {sums.loss(), sums.metrics(objective), examples, all.interrupted && examples < total};
}

}  // namespace vitrine
