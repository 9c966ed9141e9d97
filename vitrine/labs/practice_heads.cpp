#include <algorithm>
#include <cmath>

#include "vitrine/labs/lab.h"
#include "vitrine/labs/practice_numbers.h"

namespace vitrine::labs {
namespace {

plot::Table head_counts_table(const Lesson& lesson, const HeadsPractice& practice) {
  plot::Table table{.title = lesson.word("table", fmt::arg("seeds", practice.sizes.seeds)),
                    .header = {lesson.word("heads"), lesson.word("head_width"), lesson.word("rate"),
                               lesson.word("mse"), lesson.word("entropy"), lesson.word("places"),
                               lesson.word("parameters"), lesson.word("seconds")}};
  for (const auto& row : practice.rows)
    table.rows.push_back({std::to_string(row.heads), std::to_string(practice.width / row.heads),
                          fmt::format("{:g}", row.score.rate),
                          fmt::format("{:.5f} ± {:.5f}", row.score.error.mean, row.score.error.std),
                          fmt::format("{:.2f} ± {:.2f}", row.entropy.mean, row.entropy.std),
                          fmt::format("{:.1f}", row.places), std::to_string(row.score.parameters),
                          fmt::format("{:.1f}", row.score.seconds)});
  return table;
}

plot::Chart head_counts_chart(const Lesson& lesson, const HeadsPractice& practice,
                              const std::string& title, plot::Axis y) {
  plot::Chart chart{.title = lesson.word(title),
                    .x = {.label = lesson.word("figure.heads")},
                    .y = std::move(y),
                    .width = 280};
  for (const auto& row : practice.rows) chart.x.names.push_back(std::to_string(row.heads));
  return chart;
}

plot::Figure head_counts_figure(const Lesson& lesson, const HeadsPractice& practice) {
  auto errors = head_counts_chart(lesson, practice, "figure.errors",
                                  {.label = lesson.word("figure.mse"), .low = 0});
  auto entropy = head_counts_chart(lesson, practice, "figure.entropies",
                                   {.label = lesson.word("figure.entropy"), .low = 0});
  auto time = head_counts_chart(lesson, practice, "figure.times",
                                {.label = lesson.word("figure.seconds"), .low = 0});
  plot::Series mse{.mark = plot::Mark::Bars, .color = 0},
      nats{.mark = plot::Mark::Bars, .color = 2}, seconds{.mark = plot::Mark::Bars, .color = 1};
  plot::Series seeds{.name = lesson.word("figure.seed"), .mark = plot::Mark::Points, .color = 6};
  for (const auto& row : practice.rows) {
    mse.y.push_back(row.score.error.mean);
    nats.y.push_back(row.entropy.mean);
    nats.error.push_back(row.entropy.std);
    seconds.y.push_back(row.score.seconds);
    for (const double one : row.score.mse) {
      seeds.x.push_back(static_cast<double>(&row - practice.rows.data()));
      seeds.y.push_back(one);
    }
  }
  errors.series = {mse, seeds};
  entropy.series = {nats};
  time.series = {seconds};
  return {.title = lesson.word("figure.title", fmt::arg("width", practice.width)),
          .columns = 3,
          .panels = {errors, entropy, time}};
}

void say_which_count_is_best(Lesson& lesson, const HeadsPractice& practice) {
  auto ranked = practice.rows;
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.score.error.mean < b.score.error.mean; });
  const auto &best = ranked.front(), &worst = ranked.back();
  const bool clear =
      worst.score.error.mean - best.score.error.mean > worst.score.error.std + best.score.error.std;
  lesson.say(clear ? "clear" : "close", fmt::arg("best", best.heads),
             fmt::arg("worst", worst.heads),
             fmt::arg("ratio", worst.score.error.mean / best.score.error.mean));
}

}  // namespace

void practise_heads(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  lesson.say("method");
  const auto practice = heads_practice(options, lesson.word("progress"), lesson.word("unit"));
  lesson.table(head_counts_table(lesson, practice));
  const double length = static_cast<double>(practice.sizes.length);
  lesson.say("columns", fmt::arg("uniform", std::log(length)));
  say_which_count_is_best(lesson, practice);
  lesson.figure("exercise_heads", head_counts_figure(lesson, practice), lesson.word("caption"));
  lesson.say("next");
}

}  // namespace vitrine::labs
