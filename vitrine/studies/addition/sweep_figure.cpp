#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "vitrine/core/error.h"
#include "vitrine/studies/addition/figures.h"

namespace vitrine {
namespace {

using plot::Mark;
using plot::Series;
using plot::Stroke;

constexpr int64_t kRed = 1, kGreen = 2, kBlue = 0, kBlack = 6;
constexpr double kWidth = 620, kHeight = 200;

/// One line of the sweep in all three panels.
struct Line {
  std::string key, name;
  Stroke stroke;
  std::vector<const PointResult*> points{};
};

/// One of the three measured things.
struct Quantity {
  RunFigure figure;
  std::string label;
  double factor;
  int64_t color;
  bool log;
  bool single_runs = false;  // shown beside their mean, in place of a band around it
};

std::vector<Line> lines_of(const SweepResult& sweep, AdditionArchitecture architecture,
                           const FigureWords& w) {
  std::vector<Line> lines = {{kEmbedKey, w.embed, Stroke::Solid},
                             {kLayersKey, w.layers, Stroke::Dotted}};
  if (architecture == AdditionArchitecture::Cnn)
    lines.push_back({kChannelsKey, w.channels, Stroke::Dashed});
  else
    lines.push_back({kHiddenKey, w.hidden, Stroke::Dashed});
  for (auto& line : lines) line.points = points_along(sweep, line.key);
  std::erase_if(lines, [](const Line& line) { return line.points.empty(); });
  check(!lines.empty(), "addition: sweep '{}' varies neither {}, {}, {} nor {}", sweep.name,
        kEmbedKey, kLayersKey, kChannelsKey, kHiddenKey);
  return lines;
}

double log2_value(const Line& line, const PointResult& point) {
  const double value = setting_number(point.point, line.key);
  check(value > 0, "addition: {} = {} has no place on a logarithmic axis", line.key, value);
  return std::log2(value);
}

/// An axis on which place k stands for 2^(first + k).
struct PowerAxis {
  double first = 0;
  std::vector<std::string> names{};

  explicit PowerAxis(const std::vector<Line>& lines) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& line : lines)
      for (const auto* point : line.points) {
        low = std::min(low, std::floor(log2_value(line, *point)));
        high = std::max(high, std::ceil(log2_value(line, *point)));
      }
    first = low;
    for (double power = low; power <= high; ++power)
      names.push_back(fmt::format("{:g}", std::exp2(power)));
  }

  double place(const Line& line, const PointResult& point) const {
    return log2_value(line, point) - first;
  }
};

class SweepPanel {
 public:
  SweepPanel(const std::vector<Line>& lines, const Quantity& quantity, const PowerAxis& axis)
      : lines_(lines), quantity_(quantity), axis_(axis) {}

  /// Single runs come first, so that each setting's markers are alike in all panels.
  plot::Chart chart(const FigureWords& w) const {
    plot::Chart chart{.x = {.label = w.setting_value, .names = axis_.names},
                      .y = {.label = quantity_.label, .log = quantity_.log},
                      .width = kWidth,
                      .height = kHeight};
    if (quantity_.log)
      chart.y.low = floor();
    else
      chart.y.low = 0, chart.y.high = 100;
    if (single_runs())
      for (const auto& line : lines_) add(chart, runs(line));
    else
      for (const auto& line : lines_) add(chart, means(line));
    add(chart, over_budget(w));
    add(chart, failed(w));
    if (single_runs())
      for (const auto& line : lines_) add(chart, means(line));
    return chart;
  }

 private:
  /// A band of one standard deviation around a mean near zero has no lower end on a log axis.
  bool single_runs() const { return quantity_.single_runs; }

  static void add(plot::Chart& chart, Series series) {
    if (!series.y.empty()) chart.series.push_back(std::move(series));
  }

  Series runs(const Line& line) const {
    Series series{.mark = Mark::Points, .color = quantity_.color};
    for_each_value([&](const Line& one, const PointResult& point, double value) {
      if (&one != &line) return;
      series.x.push_back(axis_.place(line, point));
      series.y.push_back(value);
    });
    return series;
  }

  Series means(const Line& line) const {
    Series series{.name = line.name,
                  .stroke = line.stroke,
                  .markers = !single_runs(),
                  .color = quantity_.color};
    for (const auto* point : line.points) {
      const auto here = measured(*point, quantity_.figure);
      if (!here) continue;
      series.x.push_back(axis_.place(line, *point));
      series.y.push_back(quantity_.factor * here->mean);
      if (!single_runs()) series.error.push_back(quantity_.factor * here->std);
    }
    return series;
  }

  Series over_budget(const FigureWords& w) const {
    Series series{.name = w.over_budget, .mark = Mark::Points, .color = kBlack};
    const auto is_over = [](const SweepRun& run) { return run.stopped(StopReason::OverBudget); };
    for_each_point_with(is_over, [&](double place, const PointResult& point) {
      series.x.push_back(place);
      series.y.push_back(quantity_.factor * mean_std(point, quantity_.figure).mean);
    });
    return series;
  }

  /// A failed run has no figures: it is marked at the foot of the panel.
  Series failed(const FigureWords& w) const {
    Series series{.name = w.failed, .mark = Mark::Points, .color = kBlack};
    const auto is_failed = [](const SweepRun& run) { return run.failed(); };
    for_each_point_with(is_failed, [&](double place, const PointResult&) {
      series.x.push_back(place);
      series.y.push_back(quantity_.log ? 1.2 * floor() : 3);
    });
    return series;
  }

  void for_each_point_with(const std::function<bool(const SweepRun&)>& has,
                           const std::function<void(double, const PointResult&)>& use) const {
    for (const auto& line : lines_)
      for (const auto* point : line.points)
        if (std::any_of(point->runs.begin(), point->runs.end(), has))
          use(axis_.place(line, *point), *point);
  }

  void for_each_value(
      const std::function<void(const Line&, const PointResult&, double)>& use) const {
    for (const auto& line : lines_)
      for (const auto* point : line.points)
        for (const auto& run : point->runs)
          if (run.outcome && std::isfinite(quantity_.figure(*run.outcome)))
            use(line, *point, quantity_.factor * quantity_.figure(*run.outcome));
  }

  /// The lower end of a logarithmic axis.
  double floor() const {
    double low = std::numeric_limits<double>::infinity();
    for_each_value([&](const Line&, const PointResult&, double value) {
      if (value > 0) low = std::min(low, value);
    });
    return std::isfinite(low) ? low / 2 : 0.1;
  }

  const std::vector<Line>& lines_;
  const Quantity& quantity_;
  const PowerAxis& axis_;
};

/// The panels share their x axis and their legend.
void leave_words_to_the_last(plot::Chart& chart) {
  chart.x.label.clear();
  for (auto& name : chart.x.names) name.clear();
  for (auto& series : chart.series) series.name.clear();
}

}  // namespace

plot::Figure sweep_figure(const SweepResult& sweep, AdditionArchitecture architecture,
                          SweepRound round, Language language) {
  const auto& w = figure_words(language);
  const auto lines = lines_of(sweep, architecture, w);
  const PowerAxis axis(lines);
  const std::vector<Quantity> quantities = {
      {test_loss_figure, w.test_loss, 1, kRed, /*log=*/true, /*single_runs=*/true},
      {test_figure, w.test_accuracy, 100, kGreen, /*log=*/false},
      {seconds_figure, w.training_time, 1, kBlue, /*log=*/true}};
  plot::Figure figure{.title = filled(round == SweepRound::First ? w.first_sweep : w.second_sweep,
                                      w.architecture.of(architecture)),
                      .columns = 1};
  for (const auto& quantity : quantities) {
    auto chart = SweepPanel(lines, quantity, axis).chart(w);
    if (&quantity != &quantities.back()) leave_words_to_the_last(chart);
    figure.panels.push_back(std::move(chart));
  }
  return figure;
}

}  // namespace vitrine
