#include "vitrine/studies/addition/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vitrine/core/error.h"

namespace vitrine::addition {
namespace {

using namespace fmt::literals;
using plot::Chart;
using plot::Series;
using plot::Stroke;

constexpr int64_t kRed = 1, kGreen = 2, kBlue = 0, kBlack = 6;
constexpr double kTop = 105;  // of an axis of accuracy, above 100 %

void add(Chart& chart, Series series) {
  if (!series.y.empty()) chart.series.push_back(std::move(series));
}

/// A setting of a sweep; it has a line in all three panels.
struct SettingLine {
  std::string key, name;
  Stroke stroke;
  PointLine points{};

  double log2_value(const SweepPoint& point) const {
    const double value = setting_number(point, key);
    check(value > 0, "addition: {} = {} has no place on a logarithmic axis", key, value);
    return std::log2(value);
  }
};

std::vector<SettingLine> lines_of(const SweepResult& sweep, const Translations& t) {
  std::vector<SettingLine> lines = {{kEmbedKey, t.at("sweeps.embed"), Stroke::Solid},
                                    {kLayersKey, t.at("sweeps.layers"), Stroke::Dotted},
                                    {kChannelsKey, t.at("sweeps.channels"), Stroke::Dashed},
                                    {kHiddenKey, t.at("sweeps.hidden"), Stroke::Dashed}};
  for (auto& line : lines) line.points = points_along(sweep, line.key, line.key);
  std::erase_if(lines, [](const SettingLine& line) { return line.points.empty(); });
  check(!lines.empty(), "addition: sweep '{}' varies neither {}, {}, {} nor {}", sweep.name,
        kEmbedKey, kLayersKey, kChannelsKey, kHiddenKey);
  return lines;
}

/// One of the three measured quantities; the loss shows single runs in place of a band, which on
/// its logarithmic axis would have no lower end.
struct Quantity {
  RunFigure figure;
  std::string label;
  int64_t color;
  bool log;
  bool single_runs = false;
};

/// An axis on which position k stands for 2^(low + k).
class SweepPanel {
 public:
  explicit SweepPanel(const std::vector<SettingLine>& lines) : lines_(lines) {
    for (const auto& line : lines)
      for (const auto* point : line.points) {
        low_ = std::min(low_, std::floor(line.log2_value(point->point)));
        high_ = std::max(high_, std::ceil(line.log2_value(point->point)));
      }
  }

  /// Single runs come first, so that each setting's markers are alike in all panels. Only the
  /// `last` panel names the shared x axis and the lines.
  Chart chart(const Quantity& q, bool last, const Translations& t) const {
    Chart chart{.y = {.label = q.label, .log = q.log}, .width = 620, .height = 200};
    for (double power = low_; power <= high_; ++power)
      chart.x.names.push_back(last ? fmt::format("{:g}", std::exp2(power)) : "");
    if (last) chart.x.label = t.at("sweeps.value");
    chart.y.low = q.log ? floor(q) : 0;
    if (!q.log) chart.y.high = 100;
    const auto x = [&](const SettingLine& line) {
      return [&](const SweepPoint& point) { return line.log2_value(point) - low_; };
    };
    Series over_budget{.mark = plot::Mark::Points}, failed = over_budget;
    std::vector<Series> means;
    for (const auto& line : lines_) {
      means.push_back(mean_series(line.points, x(line), q.figure));
      auto& mean = means.back();
      if (last) mean.name = line.name;
      mean.stroke = line.stroke, mean.color = q.color, mean.markers = !q.single_runs;
      auto runs = run_series(line.points, x(line), q.figure);
      runs.color = q.color;
      if (q.single_runs) mean.error.clear(), add(chart, std::move(runs));
      const auto is_over = [](const auto& p) { return p.any_stopped(StopReason::OverBudget); };
      append(over_budget, marked_series(line.points, x(line), is_over, [&](const auto& point) {
               return mean_std(point, q.figure).mean;
             }));
      // A failed run has no figures: it is marked at the foot of the panel.
      const auto has_failed = [](const auto& p) { return p.any_failed(); };
      append(failed, marked_series(line.points, x(line), has_failed,
                                   [&](const auto&) { return q.log ? 1.2 * floor(q) : 3; }));
    }
    if (last) over_budget.name = t.at("sweeps.over_budget"), failed.name = t.at("failed");
    over_budget.color = failed.color = kBlack;
    if (!q.single_runs)
      for (auto& mean : means) add(chart, mean);
    add(chart, over_budget);
    add(chart, failed);
    if (q.single_runs)
      for (auto& mean : means) add(chart, mean);
    return chart;
  }

 private:
  static void append(Series& all, const Series& more) {
    all.x.insert(all.x.end(), more.x.begin(), more.x.end());
    all.y.insert(all.y.end(), more.y.begin(), more.y.end());
  }

  /// The lower end of a logarithmic axis.
  double floor(const Quantity& q) const {
    double low = std::numeric_limits<double>::infinity();
    for (const auto& line : lines_)
      for (const double value : run_series(
                                    line.points, [](auto&) { return 0; }, q.figure)
                                    .y)
        if (value > 0) low = std::min(low, value);
    return std::isfinite(low) ? low / 2 : 0.1;
  }

  const std::vector<SettingLine>& lines_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

double accuracy_percent(const RunOutcome& outcome) { return 100 * outcome.test_value(); }
double training_pairs_percent(const SweepPoint& point) {
  return 100 * (1 - setting_number(point, kHeldOutKey));
}
double learning_rate(const SweepPoint& point) { return setting_number(point, kLearningRateKey); }

/// For each network a point with error bars for each mean, and a line to lead the eye.
void add_accuracies(Chart& chart, const Sweeps& sweeps, const std::string& key,
                    const PointPosition& x, const Translations& t) {
  for (const auto network : kArchitectures) {
    auto bars = mean_series(points_along(sweeps.of(network), key, ""), x, accuracy_percent);
    bars.color = color_of(network);
    Series line{.x = bars.x, .y = bars.y, .color = bars.color};
    bars.name = t.at(name_of(network));
    bars.mark = plot::Mark::Points;
    add(chart, std::move(bars));
    add(chart, std::move(line));
  }
}

/// Stretches of neighbouring values with the same leader, halfway (on a log axis) to the next.
void add_shading(Chart& chart, const std::vector<SharedPoint>& points, const Translations& t) {
  PerArchitecture<bool> named{};
  for (size_t first = 0; first < points.size();) {
    size_t last = first;
    while (last + 1 < points.size() && points[last + 1].lead == points[first].lead) ++last;
    const auto between = [&](size_t one, size_t other) {
      return std::sqrt(points[one].value * points[other].value);
    };
    const double low = between(first == 0 ? first : first - 1, first);
    const double high = between(last, last + 1 == points.size() ? last : last + 1);
    if (const auto lead = points[first].lead; lead && low < high) {
      Series shade{.x = {low, high}, .y = {kTop, kTop}, .error = {kTop, kTop}};
      shade.color = color_of(*lead);
      if (!std::exchange(named.of(*lead), true))
        shade.name = t.fill("rates.shaded", "network"_a = t.at(name_of(*lead)));
      chart.series.push_back(std::move(shade));
    }
    first = last + 1;
  }
}

/// Marks at the foot for learning rates at which a run failed.
void add_failures(Chart& chart, const Sweeps& rates, const Translations& t) {
  for (const auto network : kArchitectures) {
    auto failed = marked_series(
        points_along(rates.of(network), kLearningRateKey, ""), learning_rate,
        [](const auto& point) { return point.any_failed(); },
        [&](const auto&) { return network == Architecture::Cnn ? 2 : 6; });
    failed.name = t.fill("rates.failed", "network"_a = t.at(name_of(network)));
    failed.color = color_of(network);
    add(chart, std::move(failed));
  }
}

}  // namespace

plot::Figure sweep_figure(const SweepResult& sweep, Architecture network, int round,
                          const Translations& t) {
  const auto lines = lines_of(sweep, t);
  const SweepPanel panel(lines);
  const std::vector<Quantity> quantities = {
      {test_loss_figure, t.at("sweeps.test_loss"), kRed, /*log=*/true, /*single_runs=*/true},
      {accuracy_percent, t.at("test_accuracy"), kGreen, /*log=*/false},
      {seconds_figure, t.at("training_time"), kBlue, /*log=*/true}};
  plot::Figure figure{
      .title = t.fill(fmt::format("sweeps.title{}", round), "network"_a = t.at(name_of(network))),
      .columns = 1};
  for (const auto& quantity : quantities)
    figure.panels.push_back(panel.chart(quantity, &quantity == &quantities.back(), t));
  return figure;
}

plot::Figure learning_rate_figure(const Sweeps& rates, const Translations& t) {
  Chart chart{.x = {.label = t.at("learning_rate"), .log = true},
              .y = {.label = t.at("test_accuracy"), .low = 0, .high = kTop},
              .width = 600,
              .height = 320};
  add_shading(chart, shared_points(rates, kLearningRateKey), t);
  add_accuracies(chart, rates, kLearningRateKey, learning_rate, t);
  add_failures(chart, rates, t);
  return {.title = t.at("rates.title"), .panels = {chart}};
}

plot::Figure held_out_figure(const Sweeps& held_out, const Translations& t) {
  Chart chart{.x = {.label = t.at("held_out.pairs")},
              .y = {.label = t.at("held_out.accuracy"), .low = 0, .high = kTop},
              .width = 560,
              .height = 300};
  add_accuracies(chart, held_out, kHeldOutKey, training_pairs_percent, t);
  return {.title = t.at("held_out.title"), .panels = {chart}};
}

}  // namespace vitrine::addition
