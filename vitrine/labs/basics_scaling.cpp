#include <cmath>
#include <utility>

#include "vitrine/labs/basics_numbers.h"
#include "vitrine/labs/basics_parts.h"

namespace vitrine::labs {
namespace {

/// "0.5 / 0.3 / 0.2".
template <typename Numbers>
std::string slashed(const Numbers& numbers, int decimals) {
  std::string text;
  for (const double n : numbers)
    text += fmt::format("{}{:.{}f}", text.empty() ? "" : " / ", n, decimals);
  return text;
}

/// A chart over the width of the keys: what `of` gives without and with scaling.
template <typename Of>
plot::Chart chart_over_widths(const Lesson& lesson, const std::string& key,
                              const std::vector<ScalingPoint>& points, Of of) {
  plot::Series raw{.name = lesson.word("scaling.raw"), .markers = true};
  plot::Series scaled{.name = lesson.word("scaling.scaled"), .markers = true};
  for (const auto& point : points) {
    const auto [without, with] = of(point);
    for (auto* series : {&raw, &scaled}) series->x.push_back(static_cast<double>(point.width));
    raw.y.push_back(without);
    scaled.y.push_back(with);
  }
  return {.title = lesson.word("scaling." + key),
          .x = {.label = lesson.word("scaling.width"), .log = true},
          .y = {.label = lesson.word("scaling." + key + "_axis"), .low = 0},
          .series = {raw, scaled},
          .width = 330,
          .height = 220};
}

plot::Chart example_chart(const Lesson& lesson, const ScalingExample& example) {
  return {
      .title = lesson.word("scaling.example", fmt::arg("width", example.width)),
      .x = {.label = lesson.word("scaling.keys"), .names = {"k1", "k2", "k3"}},
      .y = {.label = lesson.word("scaling.weight"), .low = 0, .high = 1},
      .series = {{.name = lesson.word("scaling.raw"), .y = example.raw, .mark = plot::Mark::Bars},
                 {.name = lesson.word("scaling.scaled"),
                  .y = example.scaled,
                  .mark = plot::Mark::Bars}},
      .width = 330,
      .height = 220};
}

void figure_of_scaling(Lesson& lesson, const ScalingExample& example,
                       const std::vector<ScalingPoint>& points) {
  const auto pair = [](double raw, double scaled) { return std::pair{raw, scaled}; };
  auto deviation = chart_over_widths(lesson, "deviation", points, [&](const ScalingPoint& p) {
    return pair(p.score_deviation, p.score_deviation / std::sqrt(p.width));
  });
  deviation.y.log = true;
  deviation.y.low.reset();
  auto entropy = chart_over_widths(lesson, "entropy", points, [&](const ScalingPoint& p) {
    return pair(p.raw.entropy, p.scaled.entropy);
  });
  entropy.y.high = 1.7;  // room for the legend
  const auto& widths = entropy.series.front().x;
  entropy.series.push_back({.name = lesson.word("scaling.even"),
                            .x = {widths.front(), widths.back()},
                            .y = {std::log(3), std::log(3)},
                            .stroke = plot::Stroke::Dotted});
  const auto gradient = chart_over_widths(lesson, "gradient", points, [&](const ScalingPoint& p) {
    return pair(p.raw.gradient, p.scaled.gradient);
  });
  lesson.figure("01_scaling_effect",
                {.title = lesson.word("scaling.figure"),
                 .columns = 2,
                 .panels = {example_chart(lesson, example), deviation, entropy, gradient}},
                lesson.word("scaling.caption"));
}

void table_of_draws(Lesson& lesson, const std::vector<ScalingPoint>& points) {
  plot::Table table{.title = lesson.word("scaling.draw_table"),
                    .header = {lesson.word("scaling.width"), lesson.word("scaling.raw"),
                               lesson.word("scaling.scaled")},
                    .rows = {}};
  for (const auto& p : points)
    table.rows.push_back(
        {fmt::format("{}", p.width), slashed(p.first.raw, 3), slashed(p.first.scaled, 3)});
  lesson.table(table);
}

void table_of_means(Lesson& lesson, const std::vector<ScalingPoint>& points) {
  plot::Table table{
      .title = lesson.word("scaling.mean_table"),
      .header = {lesson.word("scaling.width"), "√d", "", lesson.word("scaling.deviation_short"),
                 lesson.word("scaling.entropy_short"), lesson.word("scaling.greatest_short"),
                 lesson.word("scaling.gradient_short")},
      .rows = {}};
  const auto row = [&](const ScalingPoint& p, const std::string& way, const SoftmaxStats& h,
                       double deviation) {
    table.rows.push_back({fmt::format("{}", p.width), fmt::format("{:.2f}", std::sqrt(p.width)),
                          lesson.word("scaling." + way), fmt::format("{:.2f}", deviation),
                          fmt::format("{:.3f}", h.entropy), fmt::format("{:.3f}", h.greatest),
                          fmt::format("{:.3f}", h.gradient)});
  };
  for (const auto& p : points) {
    row(p, "raw", p.raw, p.score_deviation);
    row(p, "scaled", p.scaled, p.score_deviation / std::sqrt(p.width));
  }
  lesson.table(table);
}

}  // namespace

void teach_scaling(Lesson& lesson, const LabOptions& options) {
  const int64_t draws = options.smoke ? 50 : 2000;
  const auto example = textbook_scaling_example(options.seed, draws);
  const auto points =
      scaling_over_widths(options.smoke ? std::vector<int64_t>{8, 64}
                                        : std::vector<int64_t>{4, 8, 16, 32, 64, 128, 256, 512},
                          options.seed, draws);
  std::vector<ScalingPoint> shown;
  for (const auto& point : points)
    if (point.width == 8 || point.width == 64 || point.width == 512) shown.push_back(point);

  lesson.section("scaling.title");
  lesson.say("scaling.why");
  lesson.formula("Var(q · k) = Var(q₁k₁ + … + q_d k_d) = d");
  lesson.say("scaling.one", fmt::arg("width", example.width), fmt::arg("draws", draws),
             fmt::arg("raw", slashed(kTextbookRaw, 2)),
             fmt::arg("scaled", slashed(kTextbookScaled, 2)));
  lesson.table({.title = lesson.word("scaling.example", fmt::arg("width", example.width)),
                .header = {"", "k1 / k2 / k3"},
                .rows = {{lesson.word("scaling.scores"), slashed(example.scores, 3)},
                         {lesson.word("scaling.raw"), slashed(example.raw, 3)},
                         {lesson.word("scaling.scaled"), slashed(example.scaled, 3)}}});
  lesson.say("scaling.draws");
  table_of_draws(lesson, shown);
  lesson.say("scaling.means", fmt::arg("draws", draws), fmt::arg("even", std::log(3)));
  table_of_means(lesson, shown);
  const auto& last = points.back();
  lesson.say("scaling.seen", fmt::arg("width", last.width), fmt::arg("raw", last.raw.gradient),
             fmt::arg("scaled", last.scaled.gradient),
             fmt::arg("ratio", last.scaled.gradient / last.raw.gradient));
  figure_of_scaling(lesson, example, points);
}

}  // namespace vitrine::labs
