#include "vitrine/labs/sequences/figures.h"

#include <algorithm>
#include <cmath>

namespace vitrine::labs::sequences {
namespace {

using plot::Chart;
using plot::Figure;
using plot::Mark;
using plot::Series;
using plot::Stroke;

constexpr int64_t kTruthColor = 6, kAttentionColor = 2;

/// first, first + 1, ...
std::vector<double> counted_from(double first, size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(first + static_cast<double>(i));
  return values;
}

/// Names for every fifth step back from the last of `count` positions: "-5", "0".
std::vector<std::string> names_of_steps(int64_t count) {
  std::vector<std::string> names(count);
  for (int64_t i = 0; i < count; ++i)
    if ((count - 1 - i) % 5 == 0) names[i] = std::to_string(i - (count - 1));
  return names;
}

Chart sample_chart(const Lesson& lesson, const SequenceNumbers& numbers, size_t sample) {
  const auto& wave = numbers.samples[sample];
  const auto seen = static_cast<double>(wave.seen.size());
  auto truth = wave.future;
  truth.insert(truth.begin(), wave.seen.back());
  Chart chart{.title = lesson.word("samples.panel", fmt::arg("number", sample + 1)),
              .x = {.label = lesson.word("samples.step")},
              .y = {.label = lesson.word("samples.value")},
              .width = 400,
              .height = 200};
  chart.series.push_back({.name = lesson.word("samples.seen"),
                          .x = counted_from(0, wave.seen.size()),
                          .y = wave.seen,
                          .markers = true,
                          .color = kTruthColor});
  chart.series.push_back({.name = lesson.word("samples.truth"),
                          .x = counted_from(seen - 1, truth.size()),
                          .y = truth,
                          .stroke = Stroke::Dotted,
                          .color = kTruthColor});
  for (const auto& network : numbers.networks) {
    if (network.network != WaveNetwork::Transformer && network.network != WaveNetwork::Rnn)
      continue;
    const auto& continued = network.continued[sample];
    chart.series.push_back({.name = network_word(lesson, network.network),
                            .x = counted_from(seen, continued.size()),
                            .y = continued,
                            .color = network_color(network.network)});
  }
  if (sample + 1 < numbers.samples.size())  // one legend for all panels
    for (auto& series : chart.series) series.name.clear();
  return chart;
}

/// One point per head: steps back to its peak against the entropy of its weights.
Chart seeds_chart(const Lesson& lesson, const SequenceNumbers& numbers) {
  const auto length = numbers.heads.front().front().weights.size();
  Chart chart{.title = lesson.word("heads.seeds_panel"),
              .x = {.label = lesson.word("heads.lag"), .low = -0.5},
              .y = {.label = lesson.word("heads.entropy_axis"), .low = 0},
              .width = 560,
              .height = 240};
  double farthest = 1;
  for (size_t seed = 0; seed < numbers.heads.size(); ++seed) {
    Series points{.name = lesson.word("heads.seed", fmt::arg("number", seed + 1)),
                  .mark = Mark::Points};
    for (const auto& head : numbers.heads[seed]) {
      points.x.push_back(static_cast<double>(head.lag));
      points.y.push_back(head.entropy);
      farthest = std::max(farthest, points.x.back());
    }
    chart.series.push_back(std::move(points));
  }
  const double uniform = std::log(static_cast<double>(length));
  chart.series.push_back({.name = lesson.word("heads.uniform"),
                          .x = {-0.5, farthest + 0.5},
                          .y = {uniform, uniform},
                          .stroke = Stroke::Dashed,
                          .color = kTruthColor});
  return chart;
}

Series importance_line(std::string name, const StepSummary& summary, int64_t color, bool right) {
  return {.name = std::move(name),
          .y = summary.mean,
          .error = summary.deviation,
          .markers = true,
          .right = right,
          .color = color};
}

constexpr int64_t kBaselineColor = 6, kSourceColor = 5;
constexpr double kPerformanceWidth = 400, kPerformanceHeight = 240;

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
    words.push_back(network_word(lesson, network.network));
  return words;
}

/// The reference's dots stand where it has trained the same network. (Bars would have no zero to
/// stand on.)
Chart wave_error_chart(const Lesson& lesson, const SequenceNumbers& numbers,
                       const WaveBaselines& baselines) {
  auto chart = performance_chart(lesson, "results.error_panel",
                                 {.names = network_words(lesson, numbers)}, error_axis(lesson));
  const auto count = numbers.networks.size();
  Series ours{.name = lesson.word("results.ours"), .mark = Mark::Points, .color = 0};
  Series source{.name = lesson.word("results.source"), .mark = Mark::Points, .color = kSourceColor};
  const auto add = [](Series& series, double x, double mean, double std) {
    series.x.push_back(x);
    series.y.push_back(mean);
    series.error.push_back(std);
  };
  for (size_t i = 0; i < count; ++i) {
    const auto& network = numbers.networks[i];
    const auto theirs = reference_error(network.network);
    const auto place = static_cast<double>(i), aside = theirs ? 0.12 : 0;
    add(ours, place - aside, network.score.error.mean, network.score.error.std);
    if (theirs) add(source, place + aside, theirs->mean, theirs->std);
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
    chart.series.push_back({.name = network_word(lesson, network.network),
                            .x = network.score.epochs,
                            .y = network.score.curve,
                            .color = network_color(network.network)});
  return chart;
}

Chart wave_rate_chart(const Lesson& lesson, const SequenceNumbers& numbers) {
  auto chart =
      performance_chart(lesson, "results.rate_panel",
                        {.label = lesson.word("results.rate"), .log = true}, error_axis(lesson));
  for (const auto& network : numbers.networks) {
    Series line{.name = network_word(lesson, network.network),
                .markers = true,
                .color = network_color(network.network)};
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

std::string network_word(const Lesson& lesson, WaveNetwork network) {
  return lesson.word("network." + network_name(network));
}

int64_t network_color(WaveNetwork network) { return static_cast<int64_t>(network); }

Figure sample_waves_figure(const Lesson& lesson, const SequenceNumbers& numbers) {
  Figure figure{.title = lesson.word("samples.figure"), .columns = 2};
  for (size_t i = 0; i < numbers.samples.size(); ++i)
    figure.panels.push_back(sample_chart(lesson, numbers, i));
  return figure;
}

Figure wave_attention_figure(const Lesson& lesson, const SequenceNumbers& numbers) {
  const auto length = numbers.attention.front().rows;
  Figure figure{.title = lesson.word("attention.figure"),
                .columns = 2,
                .shared_colors = true,
                .color_label = lesson.word("attention.weight")};
  for (size_t head = 0; head < numbers.attention.size(); ++head)
    figure.panels.push_back(
        plot::HeatMap{.title = lesson.word("attention.head", fmt::arg("number", head + 1)),
                      .values = numbers.attention[head],
                      .row_names = names_of_steps(length),
                      .column_names = names_of_steps(length),
                      .x_label = lesson.word("attention.looked_at"),
                      .y_label = lesson.word("attention.looks"),
                      .low = 0,
                      .size = 300});
  return figure;
}

Figure head_roles_figure(const Lesson& lesson, const SequenceNumbers& numbers) {
  const auto& heads = numbers.heads.front();
  const auto length = static_cast<int64_t>(heads.front().weights.size());
  plot::HeatMap map{.title = lesson.word("heads.map_panel"),
                    .values = {static_cast<int64_t>(heads.size()), length, {}},
                    .x_label = lesson.word("heads.lag"),
                    .colors = plot::ColorMap::Blues,
                    .low = 0,
                    .annotate = true,
                    .color_label = lesson.word("attention.weight")};
  for (int64_t back = 0; back < length; ++back) map.column_names.push_back(std::to_string(back));
  for (size_t i = 0; i < heads.size(); ++i) {
    map.row_names.push_back(lesson.word("attention.head", fmt::arg("number", i + 1)));
    map.values.values.insert(map.values.values.end(), heads[i].weights.begin(),
                             heads[i].weights.end());
  }
  return {.title = lesson.word("heads.figure"),
          .columns = 1,
          .panels = {map, seeds_chart(lesson, numbers)}};
}

Figure position_importance_figure(const Lesson& lesson, const SequenceNumbers& numbers) {
  const auto attention = attention_summary(numbers);
  const auto& transformer = numbers.networks[0];
  const auto& rnn = numbers.networks[1];
  const auto occlusion = StepSummary(transformer.occlusion);
  Chart steps{.title = lesson.word("importance.steps_panel"),
              .x = {.label = lesson.word("heads.lag")},
              .y = {.label = lesson.word("importance.occlusion_axis"), .low = 0},
              .right = {.label = lesson.word("attention.weight"), .low = 0},
              .width = 460,
              .height = 280};
  steps.series = {
      importance_line(lesson.word("importance.attention"), attention, kAttentionColor, true),
      importance_line(lesson.word("importance.occlusion",
                                  fmt::arg("network", network_word(lesson, transformer.network))),
                      occlusion, network_color(transformer.network), false),
      importance_line(lesson.word("importance.occlusion",
                                  fmt::arg("network", network_word(lesson, rnn.network))),
                      StepSummary(rnn.occlusion), network_color(rnn.network), false)};
  Chart pairs{.title = lesson.word("importance.pairs_panel",
                                   fmt::arg("r", correlation(attention.mean, occlusion.mean))),
              .x = {.label = lesson.word("attention.weight"), .low = 0},
              .y = {.label = lesson.word("importance.occlusion_axis"), .low = 0},
              .width = 320,
              .height = 280};
  pairs.series = {{.x = attention.mean,
                   .y = occlusion.mean,
                   .mark = Mark::Points,
                   .color = network_color(transformer.network)}};
  return {.title = lesson.word("importance.figure"), .columns = 2, .panels = {steps, pairs}};
}

plot::Figure performance_figure(const Lesson& lesson, const SequenceNumbers& numbers,
                                const WaveBaselines& baselines) {
  return {
      .title = lesson.word("results.figure"),
      .columns = 2,
      .panels = {wave_error_chart(lesson, numbers, baselines), wave_curve_chart(lesson, numbers),
                 wave_rate_chart(lesson, numbers), wave_time_chart(lesson, numbers)}};
}

}  // namespace vitrine::labs::sequences
