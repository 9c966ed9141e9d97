#include <algorithm>

#include "vitrine/labs/lab.h"
#include "vitrine/labs/practice_numbers.h"

namespace vitrine::labs {
namespace {

std::string kind_word(const Lesson& lesson, const PositionsRow& row) {
  return lesson.word("kind." + row.kind);
}

plot::Table kinds_table(const Lesson& lesson, const PositionsPractice& practice) {
  plot::Table table{.title = lesson.word("table", fmt::arg("seeds", practice.sizes.seeds)),
                    .header = {lesson.word("kind.name"), lesson.word("rate"), lesson.word("mse"),
                               lesson.word("shuffling"), lesson.word("parameters")}};
  for (const auto& row : practice.rows)
    table.rows.push_back({kind_word(lesson, row), fmt::format("{:g}", row.score.rate),
                          fmt::format("{:.5f} ± {:.5f}", row.score.error.mean, row.score.error.std),
                          fmt::format("{:.2g}", row.shuffling.mean),
                          std::to_string(row.score.parameters)});
  return table;
}

plot::Figure kinds_figure(const Lesson& lesson, const PositionsPractice& practice) {
  plot::Chart errors{.title = lesson.word("figure.errors"),
                     .y = {.label = lesson.word("figure.mse"), .log = true}};
  plot::Chart curves{.title = lesson.word("figure.curves"),
                     .x = {.label = lesson.word("figure.epoch")},
                     .y = {.label = lesson.word("figure.mse"), .log = true}};
  plot::Series bars{.name = lesson.word("figure.trained"), .mark = plot::Mark::Bars, .color = 0};
  for (const auto& row : practice.rows) {
    errors.x.names.push_back(kind_word(lesson, row));
    bars.y.push_back(row.score.error.mean);
    bars.error.push_back(row.score.error.std);
    curves.series.push_back(
        {.name = kind_word(lesson, row), .x = row.score.epochs, .y = row.score.curve});
  }
  const double edge = static_cast<double>(practice.rows.size()) - 0.5;
  errors.series = {bars, plot::Series{.name = lesson.word("figure.last_value"),
                                      .x = {-0.5, edge},
                                      .y = {practice.last_value, practice.last_value},
                                      .stroke = plot::Stroke::Dashed,
                                      .color = 6}};
  return {.title = lesson.word("figure.title"), .columns = 2, .panels = {errors, curves}};
}

void say_if_linear_is_unseen(Lesson& lesson, const PositionsPractice& practice) {
  constexpr double kRounding = 1e-5;
  for (const auto& row : practice.rows)
    if (row.kind == "linear" && row.shuffling.mean < kRounding)
      lesson.say("linear_unseen", fmt::arg("change", row.shuffling.mean));
}

void say_which_kind_is_best(Lesson& lesson, const PositionsPractice& practice) {
  const auto& none = practice.rows.front();
  const auto best = std::min_element(
      practice.rows.begin(), practice.rows.end(),
      [](const auto& a, const auto& b) { return a.score.error.mean < b.score.error.mean; });
  const auto name = kind_word(lesson, *best);
  if (best->kind == none.kind)
    lesson.say("none_is_best");
  else
    lesson.say("best", fmt::arg("best", name),
               fmt::arg("ratio", none.score.error.mean / best->score.error.mean));
}

}  // namespace

void practise_positions(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  lesson.say("method");
  const auto practice = positions_practice(options, lesson.word("progress"), lesson.word("unit"));
  lesson.table(kinds_table(lesson, practice));
  lesson.say("shuffled", fmt::arg("change", practice.rows.front().shuffling.mean));
  say_if_linear_is_unseen(lesson, practice);
  say_which_kind_is_best(lesson, practice);
  lesson.figure("exercise_positions", kinds_figure(lesson, practice), lesson.word("caption"));
  lesson.say("next");
}

}  // namespace vitrine::labs
