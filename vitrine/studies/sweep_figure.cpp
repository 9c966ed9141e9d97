#include "vitrine/studies/sweep_figure.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/studies/sweep_plan.h"

namespace vitrine {
namespace {

using plot::Mark;
using plot::Series;

/// A key's values on an axis: numbers where all are, names otherwise.
class KeyAxis {
 public:
  KeyAxis(const std::vector<PointResult>& points, const std::string& key) : key_(key) {
    axis_.label = key;
    std::set<double> numbers;
    for (const auto& point : points) {
      const auto name = point.point.value(key);
      if (!contains(axis_.names, name)) axis_.names.push_back(name);
      if (const auto number = point.point.number(key)) numbers.insert(*number);
    }
    if (numbers.size() != axis_.names.size()) return;
    constexpr double kWide = 10;
    axis_.names.clear();
    axis_.log = *numbers.begin() > 0 && *numbers.rbegin() >= kWide * *numbers.begin();
  }

  const plot::Axis& axis() const { return axis_; }
  bool has_names() const { return !axis_.names.empty(); }
  double position(const SweepPoint& point) const {
    if (!has_names()) return *point.number(key_);
    const auto name = std::find(axis_.names.begin(), axis_.names.end(), point.value(key_));
    return static_cast<double>(name - axis_.names.begin());
  }

 private:
  std::string key_;
  plot::Axis axis_;
};

/// The last part of a key with its value: "embed=64".
std::string short_setting(const std::string& key, const std::string& value) {
  return key.substr(key.rfind('.') + 1) + "=" + value;
}

/// The panel of one key.
class KeyPanel {
 public:
  KeyPanel(const SweepResult& sweep, const std::vector<std::string>& keys, const std::string& key)
      : key_(key), points_(points_of(sweep, key)), axis_(points_, key) {
    for (const auto& point : points_) line(others(point.point, keys)).push_back(&point);
    const bool single = std::all_of(lines_.begin(), lines_.end(),
                                    [](const auto& one) { return one.second.size() == 1; });
    if (!single && lines_.size() <= plot::kSeriesColors) return;
    // Too many combinations, or settings that change together: all points in one line.
    points_ = merged();
    lines_.clear();
    for (const auto& point : points_) line("").push_back(&point);
  }

  plot::Chart chart(const Metric& metric) const {
    plot::Chart chart{.x = axis_.axis(),
                      .y = {.label = metric.label(), .log = metric.log_scale},
                      .width = 460,
                      .height = 300};
    int64_t number = 0;
    for (const auto& [name, points] : lines_) {
      add(chart, metric, "validation", &RunOutcome::validation_value, points, name, number);
      add(chart, metric, "test", &RunOutcome::test_value, points, name, number);
      ++number;
    }
    return chart;
  }

 private:
  /// The line of this name; a new one if there is none yet.
  PointLine& line(const std::string& name) {
    for (auto& [known, points] : lines_)
      if (known == name) return points;
    return lines_.emplace_back(name, PointLine()).second;
  }

  static std::vector<PointResult> points_of(const SweepResult& sweep, const std::string& key) {
    std::vector<PointResult> points;
    for (const auto& axis : {key, std::string()})
      for (const auto* point : points_along(sweep, key, axis))
        if (!point->point.value(key).empty()) points.push_back(*point);
    return points;
  }

  /// "embed=64, layers=2": the varied settings of a grid's point besides the panel's own.
  std::string others(const SweepPoint& point, const std::vector<std::string>& keys) const {
    std::vector<std::string> settings;
    for (const auto& key : keys)
      if (key != key_ && point.axis.empty())
        settings.push_back(short_setting(key, point.value(key)));
    return fmt::format("{}", fmt::join(settings, ", "));
  }

  /// One point for each value, with the runs of all that have it.
  std::vector<PointResult> merged() const {
    std::vector<PointResult> result;
    for (const auto& point : points_) {
      const auto same = std::find_if(result.begin(), result.end(), [&](const auto& other) {
        return other.point.value(key_) == point.point.value(key_);
      });
      if (same == result.end())
        result.push_back(point);
      else
        same->runs.insert(same->runs.end(), point.runs.begin(), point.runs.end());
    }
    return result;
  }

  /// Colours tell lines apart, or the splits where there is one line.
  void add(plot::Chart& chart, const Metric& metric, const std::string& split,
           double (RunOutcome::*value)() const, const PointLine& points, const std::string& name,
           int64_t number) const {
    const bool test = split == "test";
    const auto figure = [&](const RunOutcome& outcome) {
      return metric.in_unit((outcome.*value)());
    };
    const auto x = [&](const SweepPoint& point) { return axis_.position(point); };
    auto runs = run_series(points, x, figure), mean = mean_series(points, x, figure);
    if (runs.y.empty()) return;
    mean.name = name.empty() ? split : fmt::format("{}, {}", name, split);
    mean.stroke = test ? plot::Stroke::Solid : plot::Stroke::Dashed;
    if (axis_.has_names()) {  // nothing lies between two names: no line
      mean.mark = Mark::Points;
      mean.rings = true;
    }
    mean.color = runs.color = lines_.size() > 1 ? number : int64_t{test};
    const bool one_run_each = runs.y.size() == mean.y.size();
    if (metric.log_scale || one_run_each) mean.error.clear();
    chart.series.push_back(std::move(mean));
    chart.series.push_back(std::move(runs));
  }

  std::string key_;
  std::vector<PointResult> points_;
  KeyAxis axis_;
  std::vector<std::pair<std::string, PointLine>> lines_;  // with the settings that set them apart
};

}  // namespace

double setting_number(const SweepPoint& point, const std::string& key) {
  const auto number = point.number(key);
  check(number.has_value(), "sweep: a point has {} = '{}', which is not a number", key,
        point.value(key));
  return *number;
}

PointLine points_along(const SweepResult& sweep, const std::string& key, const std::string& axis) {
  PointLine points;
  for (const auto& point : sweep.points)
    if (point.point.axis == axis) points.push_back(&point);
  std::stable_sort(points.begin(), points.end(), [&](const auto* one, const auto* other) {
    return one->point.number(key) < other->point.number(key);
  });
  return points;
}

Series mean_series(const PointLine& points, const PointPosition& x, const RunFigure& figure) {
  Series series;
  for (const auto* point : points) {
    const auto here = measured(*point, figure);
    if (!here) continue;
    series.x.push_back(x(point->point));
    series.y.push_back(here->mean);
    series.error.push_back(here->std);
  }
  return series;
}

Series run_series(const PointLine& points, const PointPosition& x, const RunFigure& figure) {
  Series series{.mark = Mark::Points};
  for (const auto* point : points)
    for (const auto& run : point->runs) {
      if (!run.outcome || !std::isfinite(figure(*run.outcome))) continue;
      series.x.push_back(x(point->point));
      series.y.push_back(figure(*run.outcome));
    }
  return series;
}

Series marked_series(const PointLine& points, const PointPosition& x,
                     const std::function<bool(const PointResult&)>& has, const PointFigure& y) {
  Series series{.mark = Mark::Points};
  for (const auto* point : points) {
    if (!has(*point)) continue;
    series.x.push_back(x(point->point));
    series.y.push_back(y(*point));
  }
  return series;
}

plot::Figure sweep_figure(const SweepResult& sweep, const SweepConfig& config) {
  std::optional<Metric> metric;
  for (const auto& point : sweep.points)
    for (const auto& run : point.runs)
      if (run.outcome) metric = run.outcome->selection_metric;
  const auto counts = count_runs(sweep);
  auto keys = varied_keys(config);
  if (!config.learning_rates.empty()) std::erase(keys, kLearningRateKey);  // chosen, not varied
  plot::Figure figure{.title = config.name, .columns = std::min<int64_t>(2, std::ssize(keys))};
  if (counts.failed > 0)
    figure.title += fmt::format(" ({} of {} runs failed)", counts.failed, counts.runs);
  if (!metric) return figure;
  for (const auto& key : keys)
    if (auto chart = KeyPanel(sweep, keys, key).chart(*metric); !chart.series.empty())
      figure.panels.push_back(std::move(chart));
  return figure;
}

}  // namespace vitrine
