#include "vitrine/inspect/pattern_figure.h"
#include "vitrine/models/registry.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/studies/sparse/measure.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::sparse {
namespace {

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
  return {training_curve(lines, metric.name), validation_curve(lines, metric.name)};
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
