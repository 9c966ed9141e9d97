#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
    figure.panels.emplace_back(chart);
  }
  return figure;
}

}  // namespace vitrine
