#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "vitrine/inspect/approximation.h"

namespace vitrine {
namespace {

/// What 1 / sqrt(setting) makes of the first error.
plot::Series square_root_law(const ApproximationCurve& curve) {
  plot::Series law{.name = "1 / √features",
                   .x = curve.setting,
                   .y = {},
                   .error = {},
                   .stroke = plot::Stroke::Dotted};
  for (const auto setting : curve.setting)
    law.y.push_back(curve.error.front() * std::sqrt(curve.setting.front() / setting));
  return law;
}

/// The points with no error at all, which a logarithmic axis cannot show: at half of the least
/// error of the chart, with a mark of their own. Empty if there are none.
plot::Series exact_points(const plot::Chart& chart) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& series : chart.series)
    for (const double error : series.y)
      if (error > 0) least = std::min(least, error);
  plot::Series exact{.name = "error 0, drawn at the floor", .mark = plot::Mark::Points, .color = 1};
  for (const auto& series : chart.series)
    for (size_t i = 0; i < series.y.size(); ++i)
      if (series.y[i] == 0) {
        exact.x.push_back(series.x[i]);
        exact.y.push_back(std::isfinite(least) ? least / 2 : 1);
      }
  return exact;
}

}  // namespace

plot::Figure approximation_figure(const std::vector<ApproximationCurve>& curves, int64_t tokens) {
  plot::Figure figure{
      .title = fmt::format("Approximation error of linear-complexity attention, {} tokens", tokens),
      .columns = 3};
  std::vector<plot::Chart> charts;
  for (const auto& curve : curves) {
    if (charts.empty() || charts.back().title != curve.layer)
      charts.push_back({.title = curve.layer,
                        .x = {.label = curve.setting_name, .log = true},
                        .y = {.label = "relative error of the output", .log = true}});
    charts.back().series.push_back(
        {.name = curve.name, .x = curve.setting, .y = curve.error, .error = {}, .markers = true});
  }
  const auto performer = std::find_if(curves.begin(), curves.end(),
                                      [](const auto& curve) { return curve.layer == "Performer"; });
  for (auto& chart : charts) {
    if (performer != curves.end() && chart.title == performer->layer)
      chart.series.push_back(square_root_law(*performer));
    if (auto exact = exact_points(chart); !exact.x.empty()) {
      chart.series.push_back(std::move(exact));
      figure.note =
          "An error of 0 has no place on a logarithmic axis: it is drawn at the lower edge.";
    }
    figure.panels.emplace_back(chart);
  }
  return figure;
}

}  // namespace vitrine
