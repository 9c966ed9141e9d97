#include <fmt/format.h>

#include "vitrine/inspect/explain_figures.h"

namespace vitrine {
namespace {

constexpr double kWide = 560;

}  // namespace

plot::Figure distance_figure(const Explanation& e) {
  const auto layers = static_cast<double>(e.distances.size());
  plot::Chart chart{.x = {.label = "layer", .low = 0.5, .high = layers + 0.5},
                    .y = {.label = "distance (pixels)", .low = 0},
                    .width = kWide};
  plot::Series heads{.name = "one dot per head", .mark = plot::Mark::Points};
  plot::Series uniform{.name = "uniform attention", .stroke = plot::Stroke::Dashed};
  for (size_t i = 0; i < e.distances.size(); ++i) {
    const auto layer = static_cast<double>(i + 1);
    for (const double distance : e.distances[i]) {
      heads.x.push_back(layer);
      heads.y.push_back(distance);
    }
    uniform.x.insert(uniform.x.end(), {layer - 0.5, layer + 0.5});
    uniform.y.insert(uniform.y.end(), {e.uniform_distances[i], e.uniform_distances[i]});
  }
  chart.series = {heads, uniform};
  return {
      .title = "Mean attention distance",
      .panels = {chart},
      .note = fmt::format("Distance between the centres of query and key, weighted by attention, "
                          "mean over the queries; the input is {0} x {0} pixels.",
                          e.input)};
}

plot::Figure lens_figure(const Explanation& e) {
  plot::Chart chart{.x = {.label = "block (0 = embedding)", .low = 0},
                    .y = {.label = "probability (%)", .low = 0, .high = 100},
                    .width = kWide};
  for (size_t c = 0; c < e.lens.followed.size(); ++c) {
    plot::Series series{.name = e.lens.followed[c].label, .markers = true};
    for (const auto& layer : e.lens.layers) series.y.push_back(100 * layer.probabilities[c]);
    chart.series.push_back(std::move(series));
  }
  return {.title = "Logit lens: what the head would answer behind every block", .panels = {chart}};
}

}  // namespace vitrine
