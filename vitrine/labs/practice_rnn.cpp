#include <algorithm>
#include <functional>

#include "vitrine/labs/lab.h"
#include "vitrine/labs/practice_numbers.h"

namespace vitrine::labs {
namespace {

std::string row_word(const Lesson& lesson, const LengthsRow& row) {
  return lesson.word("network." + wave_network_name(row.network));
}

/// One row per length with a number of each network.
plot::Table by_length_table(const Lesson& lesson, const LengthsPractice& practice,
                            const std::string& title,
                            const std::function<std::string(const LengthPoint&)>& number) {
  plot::Table table{.title = lesson.word(title), .header = {lesson.word("length")}};
  for (const auto& row : practice.rows) table.header.push_back(row_word(lesson, row));
  const auto& points = practice.rows.front().points;
  for (size_t i = 0; i < points.size(); ++i) {
    Cells cells = {std::to_string(points[i].length)};
    for (const auto& row : practice.rows) cells.push_back(number(row.points[i]));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

plot::Table times_table(const Lesson& lesson, const LengthsPractice& practice) {
  auto table = by_length_table(lesson, practice, "times_table", [](const LengthPoint& point) {
    return fmt::format("{:.2f}", point.milliseconds);
  });
  Cells exponents = {lesson.word("exponent")};
  for (const auto& row : practice.rows) exponents.push_back(fmt::format("{:.2f}", row.exponent));
  table.rows.push_back(std::move(exponents));
  return table;
}

plot::Chart by_length_chart(const Lesson& lesson, const LengthsPractice& practice,
                            const std::string& title, const std::string& axis,
                            double LengthPoint::*number) {
  plot::Chart chart{.title = lesson.word(title),
                    .x = {.label = lesson.word("figure.length"), .log = true},
                    .y = {.label = lesson.word(axis), .log = true},
                    .height = 280};
  for (const auto& row : practice.rows) {
    plot::Series line{.name = row_word(lesson, row), .markers = true};
    for (const auto& point : row.points) {
      line.x.push_back(static_cast<double>(point.length));
      line.y.push_back(point.*number);
    }
    chart.series.push_back(std::move(line));
  }
  return chart;
}

/// The row whose point at the greatest length has the smallest `number`.
const LengthsRow& least_at_the_end(const LengthsPractice& practice, double LengthPoint::*number) {
  return *std::min_element(practice.rows.begin(), practice.rows.end(),
                           [&](const auto& one, const auto& other) {
                             return one.points.back().*number < other.points.back().*number;
                           });
}

const LengthsRow& network_row(const LengthsPractice& practice, WaveNetwork network) {
  return *std::find_if(practice.rows.begin(), practice.rows.end(),
                       [&](const auto& row) { return row.network == network; });
}

void say_times(Lesson& lesson, const LengthsPractice& practice) {
  const auto& fastest = least_at_the_end(practice, &LengthPoint::milliseconds);
  const auto& transformer = network_row(practice, WaveNetwork::Transformer);
  const auto& rnn = network_row(practice, WaveNetwork::Rnn);
  lesson.say("times", fmt::arg("transformer", transformer.exponent), fmt::arg("rnn", rnn.exponent),
             fmt::arg("length", fastest.points.back().length),
             fmt::arg("fastest", row_word(lesson, fastest)),
             fmt::arg("milliseconds", fastest.points.back().milliseconds));
}

void say_errors(Lesson& lesson, const LengthsPractice& practice) {
  const auto& best = least_at_the_end(practice, &LengthPoint::mse);
  const auto& transformer = network_row(practice, WaveNetwork::Transformer);
  const auto& rnn = network_row(practice, WaveNetwork::Rnn);
  const auto growth = [](const LengthsRow& row) {
    return row.points.back().mse / row.points.front().mse;
  };
  lesson.say("errors", fmt::arg("length", best.points.back().length),
             fmt::arg("best", row_word(lesson, best)), fmt::arg("mse", best.points.back().mse),
             fmt::arg("first", best.points.front().length),
             fmt::arg("transformer", growth(transformer)), fmt::arg("rnn", growth(rnn)));
}

}  // namespace

void practise_rnn(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  lesson.say("method");
  const auto practice = lengths_practice(options, lesson.word("progress"), lesson.word("unit"));
  lesson.table(by_length_table(lesson, practice, "errors_table", [](const LengthPoint& point) {
    return fmt::format("{:.5f}", point.mse);
  }));
  say_errors(lesson, practice);
  lesson.table(times_table(lesson, practice));
  say_times(lesson, practice);
  plot::Figure figure{.title = lesson.word("figure.title"), .columns = 2};
  figure.panels = {
      by_length_chart(lesson, practice, "figure.errors", "figure.mse", &LengthPoint::mse),
      by_length_chart(lesson, practice, "figure.times", "figure.milliseconds",
                      &LengthPoint::milliseconds)};
  lesson.figure("exercise_rnn", figure, lesson.word("caption"));
  lesson.say("next");
}

}  // namespace vitrine::labs
