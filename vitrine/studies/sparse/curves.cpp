#include <algorithm>
#include <cmath>

#include "vitrine/inspect/pattern_figure.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::sparse {
namespace {

void add(Curve& curve, double seconds, double bits) {
  if (!std::isfinite(bits)) return;  // an epoch that was not evaluated
  curve.seconds.push_back(seconds);
  curve.bits.push_back(bits);
}

/// The fraction of pairs that the network's heads attend to, on average.
double pair_fraction(const SparseTransformerConfig& config) {
  double sum = 0;
  for (int64_t layer = 0; layer < config.layers; ++layer)
    for (const auto& group : sparse_transformer_attention(config, layer).groups())
      sum += static_cast<double>(group.count) * pattern_density(group.pattern, config.length());
  return sum / static_cast<double>(config.layers * config.heads);
}

TrainedRun trained_run(const std::string& name, const SweepRun& result) {
  if (result.failed()) return {.name = name, .result = result};
  const auto folder = RunFolder::open(result.folder);
  const auto recipe = read_stored_recipe(folder);
  return {.name = name,
          .result = result,
          .curves = curves_of(read_metrics(folder.metrics()), result.outcome->selection_metric),
          .pair_fraction = pair_fraction(sparse_config(recipe.model))};
}

}  // namespace

RunCurves curves_of(const std::vector<MetricsLine>& lines, const Metric& metric) {
  RunCurves curves;
  for (const auto& line : lines) {
    const double seconds = line.value("seconds");
    if (line.kind == "step") add(curves.training, seconds, line.value(metric.name));
    if (line.kind == "epoch")
      add(curves.validation, seconds, line.value("validation_" + metric.name));
  }
  return curves;
}

Curve binned(const Curve& curve, int64_t bins) {
  if (curve.seconds.empty()) return {};
  const double end = *std::max_element(curve.seconds.begin(), curve.seconds.end());
  std::vector<double> seconds(bins), values(bins), counts(bins);
  for (size_t i = 0; i < curve.seconds.size(); ++i) {
    const auto place = static_cast<int64_t>(static_cast<double>(bins) * curve.seconds[i] / end);
    const auto bin = std::clamp<int64_t>(place, 0, bins - 1);
    seconds[bin] += curve.seconds[i];
    values[bin] += curve.bits[i];
    ++counts[bin];
  }
  Curve result;
  for (int64_t bin = 0; bin < bins; ++bin) {
    if (counts[bin] == 0) continue;
    result.seconds.push_back(seconds[bin] / counts[bin]);
    result.bits.push_back(values[bin] / counts[bin]);
  }
  return result;
}

TrainedPart collect_curves(const SweepConfig& config, const SweepResult& result) {
  TrainedPart part{
      .key = varied_keys(config).at(0), .budget = config.budget, .threads = config.threads};
  for (const auto& point : result.points)
    for (const auto& run : point.runs)
      part.runs.push_back(trained_run(point.point.value(part.key), run));
  return part;
}

}  // namespace vitrine::sparse
