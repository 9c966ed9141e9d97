#include <algorithm>
#include <cmath>
#include <utility>

#include "vitrine/core/error.h"
#include "vitrine/studies/addition/figures.h"

namespace vitrine {
namespace {

using plot::Chart;
using plot::Mark;
using plot::Series;

constexpr double kTop = 105;  // of the axis of accuracy, above 100 %

/// Accuracy in % of the points that have any, against what `place` makes of the key's value.
Series accuracy_series(const SweepResult& sweep, const std::string& key,
                       AdditionArchitecture architecture, double (*place)(double)) {
  Series series{.color = architecture_color(architecture)};
  std::vector<const PointResult*> points;
  for (const auto& point : sweep.points) points.push_back(&point);
  std::sort(points.begin(), points.end(), [&](const auto* one, const auto* other) {
    return setting_number(one->point, key) < setting_number(other->point, key);
  });
  for (const auto* point : points) {
    const auto accuracy = measured(*point, test_figure);
    if (!accuracy) continue;
    series.x.push_back(place(setting_number(point->point, key)));
    series.y.push_back(100 * accuracy->mean);
    series.error.push_back(100 * accuracy->std);
  }
  return series;
}

double as_it_is(double value) { return value; }
double training_percent(double held_out) { return 100 * (1 - held_out); }

/// A point with error bars for each mean, and a line to lead the eye.
void add_line_and_bars(Chart& chart, Series series, const std::string& name) {
  if (series.y.empty()) return;
  Series line{.x = series.x, .y = series.y, .color = series.color};
  series.name = name;
  series.mark = Mark::Points;
  chart.series.push_back(std::move(series));
  chart.series.push_back(std::move(line));
}

/// Stretches of neighbouring values with the same leader, halfway (on a log axis) to the next.
void add_shading(Chart& chart, const std::vector<SharedPoint>& points, const FigureWords& w) {
  auto names = w.architecture;
  for (size_t first = 0; first < points.size();) {
    size_t last = first;
    while (last + 1 < points.size() && points[last + 1].lead == points[first].lead) ++last;
    const double low =
        first == 0 ? points[first].value : std::sqrt(points[first - 1].value * points[first].value);
    const double high = last + 1 == points.size()
                            ? points[last].value
                            : std::sqrt(points[last].value * points[last + 1].value);
    if (points[first].lead != Lead::Neither && low < high) {
      const auto architecture = points[first].lead == Lead::Cnn ? AdditionArchitecture::Cnn
                                                                : AdditionArchitecture::Transformer;
      const auto name = std::exchange(names.of(architecture), "");
      chart.series.push_back({.name = name.empty() ? "" : filled(w.ahead, name),
                              .x = {low, high},
                              .y = {kTop, kTop},
                              .error = {kTop, kTop},
                              .color = architecture_color(architecture)});
    }
    first = last + 1;
  }
}

/// Marks at the foot for values at which a run failed.
void add_failures(Chart& chart, const PerArchitecture<std::optional<SweepResult>>& sweeps,
                  const std::string& key, const FigureWords& w) {
  for (const auto architecture : kArchitectures) {
    if (!sweeps.of(architecture)) continue;
    Series failed{.name = filled(w.failed_at, w.architecture.of(architecture)),
                  .mark = Mark::Points,
                  .color = architecture_color(architecture)};
    for (const auto& point : sweeps.of(architecture)->points)
      if (std::any_of(point.runs.begin(), point.runs.end(),
                      [](const SweepRun& run) { return run.failed(); })) {
        failed.x.push_back(setting_number(point.point, key));
        failed.y.push_back(architecture == AdditionArchitecture::Cnn ? 2 : 6);
      }
    if (!failed.y.empty()) chart.series.push_back(std::move(failed));
  }
}

}  // namespace

plot::Figure learning_rate_figure(const PerArchitecture<std::optional<SweepResult>>& rates,
                                  Language language) {
  const auto& w = figure_words(language);
  Chart chart{.x = {.label = w.learning_rate, .log = true},
              .y = {.label = w.test_accuracy, .low = 0, .high = kTop},
              .width = 600,
              .height = 320};
  add_shading(chart, shared_points(rates, kLearningRateKey), w);
  for (const auto architecture : kArchitectures)
    if (rates.of(architecture))
      add_line_and_bars(
          chart, accuracy_series(*rates.of(architecture), kLearningRateKey, architecture, as_it_is),
          w.architecture.of(architecture));
  add_failures(chart, rates, kLearningRateKey, w);
  return {.title = w.rate_title, .panels = {chart}};
}

plot::Figure held_out_figure(const PerArchitecture<std::optional<SweepResult>>& held_out,
                             Language language) {
  const auto& w = figure_words(language);
  Chart chart{.x = {.label = w.training_pairs},
              .y = {.label = w.held_out_accuracy, .low = 0, .high = kTop},
              .width = 560,
              .height = 300};
  for (const auto architecture : kArchitectures)
    if (held_out.of(architecture))
      add_line_and_bars(
          chart,
          accuracy_series(*held_out.of(architecture), kHeldOutKey, architecture, training_percent),
          w.architecture.of(architecture));
  return {.title = w.held_out_title, .panels = {chart}};
}

}  // namespace vitrine
