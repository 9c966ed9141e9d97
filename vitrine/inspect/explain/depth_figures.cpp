#include <fmt/format.h>

#include "vitrine/inspect/explain_figures.h"

namespace vitrine {
namespace {

constexpr double kWide = 560;

std::vector<std::string> counting_from(int64_t first, int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = first; i < first + count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace

plot::Figure distance_figure(const Explanation& e) {
  const auto layers = static_cast<int64_t>(e.distances.size());
  plot::Chart chart{
      .x = {.label = "layer", .low = -0.5, .high = layers - 0.5, .names = counting_from(1, layers)},
      .y = {.label = "distance (pixels)", .low = 0},
      .width = kWide};
  plot::Series heads{.name = "one dot per head", .mark = plot::Mark::Points};
  plot::Series uniform{.name = "uniform attention", .stroke = plot::Stroke::Dashed};
  for (int64_t i = 0; i < layers; ++i) {
    for (const double distance : e.distances[i]) {
      heads.x.push_back(static_cast<double>(i));
      heads.y.push_back(distance);
    }
    uniform.x.insert(uniform.x.end(), {i - 0.5, i + 0.5});
    uniform.y.insert(uniform.y.end(), 2, e.uniform_distances[i]);
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
  plot::Chart chart{
      .x = {.label = "block (0 = embedding)", .names = counting_from(0, std::ssize(e.lens.layers))},
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
