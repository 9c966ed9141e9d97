#include <limits>

#include "vitrine/labs/sequences_figures.h"

namespace vitrine::labs {
namespace {

using plot::Chart;
using plot::Mark;
using plot::Series;
using plot::Stroke;

constexpr int64_t kBaselineColor = 6, kSourceColor = 5;
constexpr double kPerformanceWidth = 400, kPerformanceHeight = 240;
constexpr double kNotThere = std::numeric_limits<double>::quiet_NaN();

/// An empty panel of the figure.
Chart performance_chart(const Lesson& lesson, const std::string& title, plot::Axis x,
                        plot::Axis y) {
  return {.title = lesson.word(title),
          .x = std::move(x),
          .y = std::move(y),
          .width = kPerformanceWidth,
          .height = kPerformanceHeight};
}

plot::Axis error_axis(const Lesson& lesson) {
  return {.label = lesson.word("results.log_mse"), .log = true};
}

std::vector<std::string> network_words(const Lesson& lesson, const SequenceNumbers& numbers) {
  std::vector<std::string> words;
  for (const auto& network : numbers.networks)
    words.push_back(wave_network_word(lesson, network.network));
  return words;
}

/// The source's bars stand where it has trained the same network.
Chart wave_error_chart(const Lesson& lesson, const SequenceNumbers& numbers,
                       const WaveBaselines& baselines) {
  auto chart = performance_chart(lesson, "results.error_panel",
                                 {.names = network_words(lesson, numbers)}, error_axis(lesson));
  const auto count = numbers.networks.size();
  Series ours{.name = lesson.word("results.ours"), .mark = Mark::Bars, .color = 0};
  Series source{.name = lesson.word("results.source"),
                .y = std::vector<double>(count, kNotThere),
                .error = std::vector<double>(count, kNotThere),
                .mark = Mark::Bars,
                .color = kSourceColor};
  for (size_t i = 0; i < count; ++i) {
    const auto& network = numbers.networks[i];
    ours.y.push_back(network.score.error.mean);
    ours.error.push_back(network.score.error.std);
    if (const auto theirs = source_error(network.network))
      source.y[i] = theirs->mean, source.error[i] = theirs->std;
  }
  chart.series = {ours, source,
                  Series{.name = lesson.word("results.extrapolation"),
                         .x = {-0.5, static_cast<double>(count) - 0.5},
                         .y = {baselines.extrapolation, baselines.extrapolation},
                         .stroke = Stroke::Dashed,
                         .color = kBaselineColor}};
  return chart;
}

Chart wave_curve_chart(const Lesson& lesson, const SequenceNumbers& numbers) {
  auto chart = performance_chart(lesson, "results.curve_panel",
                                 {.label = lesson.word("results.epoch")}, error_axis(lesson));
  for (const auto& network : numbers.networks)
    chart.series.push_back({.name = wave_network_word(lesson, network.network),
                            .x = network.score.epochs,
                            .y = network.score.curve,
                            .color = wave_network_color(network.network)});
  return chart;
}

Chart wave_rate_chart(const Lesson& lesson, const SequenceNumbers& numbers) {
  auto chart =
      performance_chart(lesson, "results.rate_panel",
                        {.label = lesson.word("results.rate"), .log = true}, error_axis(lesson));
  for (const auto& network : numbers.networks) {
    Series line{.name = wave_network_word(lesson, network.network),
                .markers = true,
                .color = wave_network_color(network.network)};
    for (const auto& trial : network.score.trials) {
      line.x.push_back(trial.rate);
      line.y.push_back(trial.validation);
    }
    chart.series.push_back(std::move(line));
  }
  return chart;
}

Chart wave_time_chart(const Lesson& lesson, const SequenceNumbers& numbers) {
  auto chart =
      performance_chart(lesson, "results.time_panel", {.names = network_words(lesson, numbers)},
                        {.label = lesson.word("results.time_axis"), .low = 0});
  Series bars{.mark = Mark::Bars, .color = 0};
  for (const auto& network : numbers.networks) bars.y.push_back(network.score.seconds);
  chart.series = {bars};
  return chart;
}

}  // namespace

plot::Figure performance_figure(const Lesson& lesson, const SequenceNumbers& numbers,
                                const WaveBaselines& baselines) {
  return {
      .title = lesson.word("results.figure"),
      .columns = 2,
      .panels = {wave_error_chart(lesson, numbers, baselines), wave_curve_chart(lesson, numbers),
                 wave_rate_chart(lesson, numbers), wave_time_chart(lesson, numbers)}};
}

}  // namespace vitrine::labs
