#include "vitrine/labs/block/figures.h"

namespace vitrine::labs::block {
namespace {

using plot::Chart;
using plot::Figure;
using plot::HeatMap;
using plot::Mark;
using plot::Matrix;
using plot::Series;
using plot::Stroke;

// A heat map of 20 steps then names every fourth of them.
constexpr double kWaveMap = 210, kWordMap = 228;
constexpr int64_t kNamedSteps = 4;

std::string step_word(const Lesson& lesson, const BlockStep& step) {
  return lesson.word("steps." + step.name);
}

std::vector<std::string> wave_step_names(int64_t count) {
  std::vector<std::string> names(count);
  for (int64_t i = 0; i < count; i += kNamedSteps) names[i] = std::to_string(i);
  return names;
}

/// Labels stand only at the figure's edge: before the first map of a row, under the last row.
HeatMap wave_map(const Lesson& lesson, const Matrix& weights, bool first, bool last) {
  const auto steps = wave_step_names(weights.rows);
  return {.values = weights,
          .row_names = steps,
          .column_names = steps,
          .x_label = last ? lesson.word("heads.looked_at") : "",
          .y_label = first ? lesson.word("heads.asking") : "",
          .low = 0,
          .size = kWaveMap};
}

/// One line per form of stack over the depths; `value` gives a stack's number. `bare` stacks are
/// left out where their number has no meaning.
template <typename Value>
Chart depth_chart(const Lesson& lesson, const std::vector<GradientSeries>& gradients,
                  const std::string& what, bool bare, Value value) {
  Chart chart{.title = lesson.word("gradients." + what),
              .x = {.label = lesson.word("axis.depth")},
              .y = {.label = lesson.word("gradients." + what + "_axis"), .log = what != "alike"},
              .width = 360,
              .height = 240};
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].form == "bare" && !bare) continue;
    Series line{.name = lesson.word("forms." + gradients[i].form),
                .markers = true,
                .color = static_cast<int64_t>(i)};
    for (const auto& stack : gradients[i].stacks) line.y.push_back(value(stack));
    chart.series.push_back(std::move(line));
  }
  for (const auto& stack : gradients.front().stacks)
    chart.x.names.push_back(std::to_string(stack.depth));
  return chart;
}

Chart layer_chart(const Lesson& lesson, const std::vector<GradientSeries>& gradients) {
  const auto depth = gradients.front().stacks.back().depth;
  Chart chart{.title = lesson.word("gradients.by_block", fmt::arg("depth", depth)),
              .x = {.label = lesson.word("axis.block")},
              .y = {.label = lesson.word("gradients.first_axis"), .log = true},
              .width = 360,
              .height = 240};
  for (const auto& series : gradients) {
    Series line{.name = lesson.word("forms." + series.form)};
    for (int64_t block = 1; block <= depth; ++block) line.x.push_back(static_cast<double>(block));
    line.y = series.stacks.back().all;
    chart.series.push_back(std::move(line));
  }
  return chart;
}

/// A chart over the batch sizes, without lines.
Chart batch_chart(const Lesson& lesson, const std::string& what,
                  const std::vector<NormComparison>& rows) {
  Chart chart{.title = lesson.word("norms." + what),
              .x = {.label = lesson.word("axis.batch")},
              .y = {.label = lesson.word("norms." + what + "_axis"), .low = 0},
              .width = 380,
              .height = 280};
  for (const auto& row : rows) chart.x.names.push_back(std::to_string(row.batch));
  return chart;
}

Series batch_line(const std::string& name, int64_t color, const std::vector<NormComparison>& rows,
                  double NormComparison::*value) {
  Series line{.name = name, .markers = true, .color = color};
  for (const auto& row : rows) line.y.push_back(row.*value);
  return line;
}

Chart curve_chart(const Lesson& lesson, const std::vector<ActivationCurve>& curves,
                  const std::string& what, std::vector<double> ActivationCurve::*values) {
  Chart chart{.title = lesson.word("activations." + what),
              .x = {.label = lesson.word("activations.input")},
              .y = {.label = lesson.word("activations." + what + "_axis")},
              .width = 300,
              .height = 240};
  for (const auto& curve : curves)
    chart.series.push_back(
        {.name = lesson.word("activations." + curve.name), .x = curve.x, .y = curve.*values});
  return chart;
}

/// Bars for both activations at each learning rate.
Chart activation_bars(const Lesson& lesson, const ActivationTrainings& trained,
                      const std::string& what, MeanStd ActivationTraining::*value, double factor) {
  Chart chart{.title = lesson.word("activations." + what),
              .x = {.label = lesson.word("activations.rate")},
              .y = {.label = lesson.word("activations." + what + "_axis"), .low = 0},
              .width = 300,
              .height = 240};
  for (const char* name : {"gelu", "relu"}) {
    Series bars{.name = lesson.word(fmt::format("activations.{}", name)), .mark = Mark::Bars};
    chart.x.names.clear();
    for (const auto& setting : trained.settings) {
      if (setting.activation != name) continue;
      chart.x.names.push_back(fmt::format("{:g}", setting.rate));
      bars.y.push_back(factor * (setting.*value).mean);
      bars.error.push_back(factor * (setting.*value).std);
    }
    chart.series.push_back(std::move(bars));
  }
  return chart;
}

}  // namespace

Figure dataflow_figure(const Lesson& lesson, const BlockTrace& trace) {
  Chart boxes{.title = lesson.word("steps.boxes"),
              .y = {.label = lesson.word("steps.value")},
              .width = 680,
              .height = 240};
  Chart lines{.title = lesson.word("steps.statistics"),
              .x = {.label = lesson.word("steps.axis")},
              .y = {.label = lesson.word("steps.statistic")},
              .width = 680,
              .height = 200};
  Series mean{.name = lesson.word("steps.mean"), .markers = true};
  Series variance{.name = lesson.word("steps.variance"), .markers = true};
  for (const auto& step : trace.steps) {
    const auto name = step_word(lesson, step);
    boxes.series.push_back({.name = name, .y = step.values, .mark = Mark::Box});
    lines.x.names.push_back(name);
    mean.y.push_back(step.mean);
    variance.y.push_back(step.variance);
  }
  lines.series = {mean, variance};
  return {.title = lesson.word("steps.figure"), .columns = 1, .panels = {boxes, lines}};
}

Figure heads_figure(const Lesson& lesson, const BlockTrace& trace,
                    const std::vector<std::string>& words, const NormTrainings& trained) {
  const auto heads = trace.heads.size();
  Figure figure{.title = lesson.word("heads.figure"), .columns = static_cast<int64_t>(heads)};
  for (size_t head = 1; head <= heads; ++head)
    figure.column_names.push_back(lesson.word("heads.head", fmt::arg("head", head)));
  figure.row_names = {lesson.word("heads.untrained"),
                      lesson.word("heads.trained", fmt::arg("layer", 1)),
                      lesson.word("heads.trained", fmt::arg("layer", trained.middle_layer))};
  for (const auto& head : trace.heads)
    figure.panels.push_back(HeatMap{.values = head.weights,
                                    .row_names = words,
                                    .column_names = words,
                                    .low = 0,
                                    .annotate = true,
                                    .color_bar = false,
                                    .size = kWordMap});
  for (const auto* layer : {&trained.first_heads, &trained.middle_heads})
    for (size_t head = 0; head < heads; ++head)
      figure.panels.push_back(wave_map(lesson, (*layer)[head].weights, /*first=*/head == 0,
                                       /*last=*/layer == &trained.middle_heads));
  return figure;
}

Figure residual_figure(const Lesson& lesson, const std::vector<GradientSeries>& gradients) {
  return {.title = lesson.word("gradients.figure"),
          .columns = 2,
          .panels = {layer_chart(lesson, gradients),
                     depth_chart(lesson, gradients, "first", /*bare=*/true,
                                 [](const StackGradients& s) { return s.all.front(); }),
                     depth_chart(lesson, gradients, "queries", /*bare=*/false,
                                 [](const StackGradients& s) { return s.queries_keys.back(); }),
                     depth_chart(lesson, gradients, "alike", /*bare=*/false,
                                 [](const StackGradients& s) { return s.alike; })}};
}

Figure norms_figure(const Lesson& lesson, const std::vector<NormComparison>& rows) {
  auto error = batch_chart(lesson, "error", rows), change = batch_chart(lesson, "change", rows);
  const auto several = lesson.word("norms.batch_several", fmt::arg("tokens", kSeveralTokens));
  error.series = {
      batch_line(lesson.word("norms.batch_single"), 0, rows, &NormComparison::batch_error_single),
      batch_line(several, 1, rows, &NormComparison::batch_error_several),
      batch_line(lesson.word("norms.layer"), 2, rows, &NormComparison::layer_error)};
  change.series = {batch_line(lesson.word("norms.batch"), 0, rows, &NormComparison::batch_change),
                   batch_line(lesson.word("norms.layer"), 2, rows, &NormComparison::layer_change)};
  return {.title = lesson.word("norms.figure"), .columns = 2, .panels = {error, change}};
}

Figure norm_places_figure(const Lesson& lesson, const NormTrainings& trained) {
  Figure figure{.title = lesson.word("training.figure", fmt::arg("layers", trained.layers)),
                .columns = 2};
  for (const bool warmup : {true, false}) {
    Chart chart{.title = lesson.word(warmup ? "training.with" : "training.without"),
                .x = {.label = lesson.word("axis.step")},
                .y = {.label = lesson.word("axis.error"), .log = true},
                .width = 400,
                .height = 300};
    for (const auto& setting : trained.settings) {
      if (setting.warmup != warmup) continue;
      Series line{.name = lesson.word("forms." + setting.place),
                  .x = setting.steps,
                  .markers = true,
                  .color = setting.place == "post" ? 2 : 3};
      for (const auto& point : setting.errors) line.y.push_back(point.mean);
      chart.series.push_back(std::move(line));
    }
    chart.series.push_back({.name = lesson.word("training.constant"),
                            .x = {0, static_cast<double>(trained.total_steps)},
                            .y = {trained.constant, trained.constant},
                            .stroke = Stroke::Dotted,
                            .color = 6});
    figure.panels.push_back(std::move(chart));
  }
  return figure;
}

Figure activations_figure(const Lesson& lesson, const std::vector<ActivationCurve>& curves,
                          const ActivationTrainings& trained) {
  return {.title = lesson.word("activations.figure"),
          .columns = 2,
          .panels = {curve_chart(lesson, curves, "shape", &ActivationCurve::y),
                     curve_chart(lesson, curves, "slope", &ActivationCurve::slope),
                     activation_bars(lesson, trained, "result", &ActivationTraining::test, 1),
                     activation_bars(lesson, trained, "dead", &ActivationTraining::dead, 100)}};
}

}  // namespace vitrine::labs::block
