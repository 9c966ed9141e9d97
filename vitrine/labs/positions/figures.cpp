#include "vitrine/labs/positions/figures.h"

#include "vitrine/core/mean_std.h"

namespace vitrine::labs::positions {
namespace {

using plot::Chart;
using plot::ColorMap;
using plot::Figure;
using plot::HeatMap;
using plot::Mark;
using plot::Matrix;
using plot::Series;
using plot::Stroke;

// Sizes at which a heat map of 64 rows can name every eighth of them.
constexpr double kLargeMap = 448, kSmallMap = 256;
constexpr double kOutputReach = 2.5;  // outputs are normed: few lie beyond
constexpr int64_t kNamedEvery = 8, kShownChannels = 8;

/// Names for every eighth of the numbers from 0.
std::vector<std::string> sparse_numbers(int64_t count) {
  std::vector<std::string> names(count);
  for (int64_t i = 0; i < count; i += kNamedEvery) names[i] = std::to_string(i);
  return names;
}

HeatMap table_map(const Lesson& lesson, const Encoding& encoding, double size) {
  return {.title = lesson.word("kinds." + encoding.kind),
          .values = encoding.table,
          .row_names = sparse_numbers(encoding.table.rows),
          .column_names = sparse_numbers(encoding.table.columns),
          .x_label = lesson.word("axis.channel"),
          .y_label = lesson.word("axis.position"),
          .colors = ColorMap::BlueRed,
          .size = size};
}

std::vector<double> column_of(const Matrix& matrix, int64_t column) {
  std::vector<double> values;
  for (int64_t row = 0; row < matrix.rows; ++row) values.push_back(matrix.at(row, column));
  return values;
}

std::vector<double> row_of(const Matrix& matrix, int64_t row) {
  const auto first = matrix.values.begin() + row * matrix.columns;
  return {first, first + matrix.columns};
}

Matrix first_columns(const Matrix& matrix, int64_t columns) {
  Matrix result{matrix.rows, columns, {}};
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      result.values.push_back(matrix.at(row, column));
  return result;
}

/// One line per encoding over the positions.
Chart encodings_chart(const Lesson& lesson, const std::vector<Encoding>& encodings,
                      const std::string& what, std::vector<double> Encoding::*values) {
  Chart chart{.title = lesson.word("compare." + what),
              .x = {.label = lesson.word("axis.position")},
              .y = {.label = lesson.word("compare." + what + "_axis")},
              .width = 300,
              .height = kSmallMap};
  for (const auto& encoding : encodings)
    chart.series.push_back({.name = lesson.word("short." + encoding.kind), .y = encoding.*values});
  return chart;
}

HeatMap outputs_map(const Lesson& lesson, const std::string& title, const Matrix& outputs,
                    const std::vector<std::string>& words) {
  std::vector<std::string> channels;
  for (int64_t i = 0; i < kShownChannels; ++i) channels.push_back(std::to_string(i));
  return {.title = title,
          .values = first_columns(outputs, kShownChannels),
          .row_names = words,
          .column_names = channels,
          .x_label = lesson.word("axis.output_channel"),
          .colors = ColorMap::BlueRed,
          .low = -kOutputReach,
          .high = kOutputReach,
          .annotate = true,
          .decimals = 1,
          .color_bar = false,
          .size = 300};
}

/// The trained errors at the trained length.
Chart error_bars(const Lesson& lesson, const TrainedPositions& trained) {
  Chart chart{.title = lesson.word("effect.trained"),
              .y = {.label = lesson.word("axis.error"), .low = 0},
              .width = 330,
              .height = 150};
  Series bars{.mark = Mark::Bars};
  for (const auto& kind : trained.kinds) {
    const auto summary = mean_std(kind.errors.front());
    chart.x.names.push_back(lesson.word("short." + kind.kind));
    bars.y.push_back(summary.mean);
    bars.error.push_back(summary.std);
  }
  chart.series = {bars};
  return chart;
}

/// Dots: bars would have no zero to stand on.
Chart change_chart(const Lesson& lesson, const std::vector<OrderEffect>& effects) {
  Chart chart{.title = lesson.word("effect.change"),
              .y = {.label = lesson.word("effect.change_axis"), .log = true},
              .width = 330,
              .height = 150};
  Series dots{.mark = Mark::Points};
  for (const auto& effect : effects) {
    chart.x.names.push_back(lesson.word("short." + effect.kind));
    dots.y.push_back(effect.word_change);
  }
  chart.series = {dots};
  return chart;
}

}  // namespace

Figure sinusoidal_figure(const Lesson& lesson, const Encoding& sinusoidal) {
  auto map = table_map(lesson, sinusoidal, kLargeMap);
  map.title = lesson.word("sinusoidal.map");
  map.color_label = lesson.word("axis.value");
  Chart waves{.title = lesson.word("sinusoidal.waves"),
              .x = {.label = lesson.word("axis.position")},
              .y = {.label = lesson.word("axis.value")},
              .width = 460,
              .height = kLargeMap};
  for (const int64_t channel : {0, 8, 16, 24, 32})
    waves.series.push_back({.name = lesson.word("sinusoidal.wave", fmt::arg("channel", channel)),
                            .y = column_of(sinusoidal.table, channel)});
  return {.title = lesson.word("sinusoidal.figure"), .columns = 2, .panels = {map, waves}};
}

Figure encodings_figure(const Lesson& lesson, const std::vector<Encoding>& encodings) {
  Figure figure{.title = lesson.word("compare.figure"), .columns = 3};
  for (const auto& encoding : encodings)
    figure.panels.push_back(table_map(lesson, encoding, kSmallMap));
  figure.panels.push_back(HeatMap{.title = lesson.word("compare.distances"),
                                  .values = clamped_distances(kTrainedPositions),
                                  .row_names = sparse_numbers(kTrainedPositions),
                                  .column_names = sparse_numbers(kTrainedPositions),
                                  .x_label = lesson.word("axis.seen"),
                                  .y_label = lesson.word("axis.asking"),
                                  .colors = ColorMap::BlueRed,
                                  .size = kSmallMap});
  figure.panels.push_back(encodings_chart(lesson, encodings, "middle", &Encoding::to_middle));
  figure.panels.push_back(encodings_chart(lesson, encodings, "norm", &Encoding::norms));
  return figure;
}

Figure relative_figure(const Lesson& lesson, const Similarity& similarity,
                       const TrainedPositions& trained) {
  const HeatMap map{.title = lesson.word("relative.map"),
                    .values = similarity.sinusoidal,
                    .row_names = sparse_numbers(similarity.sinusoidal.rows),
                    .column_names = sparse_numbers(similarity.sinusoidal.columns),
                    .x_label = lesson.word("axis.position"),
                    .y_label = lesson.word("axis.position"),
                    .color_label = lesson.word("axis.similarity"),
                    .size = kSmallMap};
  Chart distance{.title = lesson.word("relative.by_distance"),
                 .x = {.label = lesson.word("axis.distance")},
                 .y = {.label = lesson.word("axis.similarity")},
                 .width = 340,
                 .height = kSmallMap};
  distance.series.push_back({.name = lesson.word("short.sinusoidal"), .y = similarity.by_distance});
  for (const bool after : {false, true}) {
    const auto& cosines = after ? trained.learned_after : trained.learned_before;
    Series line{.name = lesson.word(after ? "relative.after" : "relative.before"),
                .stroke = after ? Stroke::Solid : Stroke::Dashed};
    for (size_t i = 0; i < cosines.size(); ++i) line.x.push_back(static_cast<double>(i + 1));
    line.y = cosines;
    distance.series.push_back(std::move(line));
  }
  Chart bias{.title = lesson.word("relative.bias"),
             .x = {.label = lesson.word("axis.steps_back")},
             .y = {.label = lesson.word("axis.bias")},
             .width = 340,
             .height = kSmallMap};
  for (int64_t head = 0; head < trained.bias.rows; ++head)
    bias.series.push_back({.name = lesson.word("relative.head", fmt::arg("head", head + 1)),
                           .y = row_of(trained.bias, head),
                           .markers = true});
  return {.title = lesson.word("relative.figure"), .columns = 3, .panels = {map, distance, bias}};
}

Figure position_effect_figure(const Lesson& lesson, const std::vector<OrderEffect>& effects,
                              const std::vector<std::string>& words,
                              const TrainedPositions& trained) {
  Figure figure{.title = lesson.word("effect.figure"), .columns = 3};
  for (const size_t i : {0, 1}) {
    const auto kind = lesson.word("short." + effects[i].kind);
    const auto panel = [&](const std::string& sentence, const Matrix& outputs) {
      figure.panels.push_back(outputs_map(
          lesson,
          lesson.word("effect.outputs", fmt::arg("kind", kind), fmt::arg("sentence", sentence)),
          outputs, words));
    };
    panel(lesson.word("order.sentence"), effects[i].sentence);
    panel(lesson.word("order.reversed"), effects[i].reversed);
    if (i == 0)
      figure.panels.push_back(change_chart(lesson, effects));
    else
      figure.panels.push_back(error_bars(lesson, trained));
  }
  return figure;
}

Figure longer_waves_figure(const Lesson& lesson, const TrainedPositions& trained) {
  Chart chart{.x = {.label = lesson.word("axis.length")},
              .y = {.label = lesson.word("axis.error"), .log = true},
              .width = 620,
              .height = 380};
  const std::vector<double> lengths(trained.lengths.begin(), trained.lengths.end());
  for (const auto& kind : trained.kinds) {
    Series line{.name = lesson.word("short." + kind.kind), .x = lengths, .markers = true};
    for (const auto& errors : kind.errors) line.y.push_back(mean_std(errors).mean);
    chart.series.push_back(std::move(line));
  }
  return {.title = lesson.word("longer.figure"), .panels = {chart}};
}

}  // namespace vitrine::labs::positions
