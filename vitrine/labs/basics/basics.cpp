#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "vitrine/core/mean_std.h"
#include "vitrine/labs/basics/numbers.h"
#include "vitrine/labs/lab.h"

namespace vitrine::labs::basics {
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
                    .header = lesson.words({"scaling.width", "scaling.raw", "scaling.scaled"}),
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

using Names = std::vector<std::string>;

double mean_of(const std::vector<double>& values) { return mean_std(values).mean; }

/// "A1", "B1", "A2": the topic's letter and how often it has come up.
Names topic_tokens(const std::vector<int64_t>& topics) {
  Names names;
  std::vector<int64_t> seen(topics.size());
  for (const auto topic : topics)
    names.push_back(fmt::format("{:c}{}", static_cast<char>('A' + topic), ++seen[topic]));
  return names;
}

/// The places of the tokens, topic by topic.
std::vector<int64_t> order_by_topic(const std::vector<int64_t>& topics) {
  std::vector<int64_t> order(topics.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return topics[a] < topics[b]; });
  return order;
}

plot::HeatMap weights_map(const Lesson& lesson, const std::string& key, const LongerSequence& s,
                          const std::vector<int64_t>& order) {
  const auto all = topic_tokens(s.topics);
  plot::Matrix values{s.weights.rows, s.weights.columns, {}};
  Names names;
  for (const auto i : order) {
    names.push_back(all[i]);
    for (const auto j : order) values.values.push_back(s.weights.at(i, j));
  }
  return {.title = lesson.word("longer." + key),
          .values = values,
          .row_names = names,
          .column_names = names,
          .x_label = lesson.word("steps.key"),
          .y_label = lesson.word("steps.query"),
          .low = 0,
          .color_label = lesson.word("scaling.weight"),
          .size = 320};
}

void figure_of_longer_sequence(Lesson& lesson, const LongerSequence& s) {
  std::vector<int64_t> as_it_is(s.topics.size());
  std::iota(as_it_is.begin(), as_it_is.end(), 0);
  plot::Chart cosines{
      .title = lesson.word("longer.cosines"),
      .x = {.label = lesson.word("longer.token"), .names = topic_tokens(s.topics)},
      .y = {.label = lesson.word("longer.cosine"), .high = 1},
      .series = {{.name = lesson.word("longer.before"), .y = s.before, .mark = plot::Mark::Points},
                 {.name = lesson.word("longer.after"), .y = s.after, .mark = plot::Mark::Points}},
      .width = 420,
      .height = 320};
  lesson.figure("01_longer_sequence",
                {.title = lesson.word("longer.figure"),
                 .columns = 3,
                 .panels = {weights_map(lesson, "in_order", s, as_it_is),
                            weights_map(lesson, "by_topic", s, order_by_topic(s.topics)), cosines}},
                lesson.word("longer.caption"));
}

void teach_longer_sequence(Lesson& lesson, const LabOptions& options) {
  const auto s = attend_longer_sequence(options.seed);
  lesson.section("longer.title");
  lesson.say("longer.setup", fmt::arg("tokens", s.topics.size()));
  plot::Table table{.title = lesson.word("longer.table"),
                    .header = lesson.words({"longer.topic", "longer.within", "longer.even",
                                            "longer.before", "longer.after"}),
                    .rows = {}};
  const auto topics = *std::max_element(s.topics.begin(), s.topics.end()) + 1;
  for (int64_t topic = 0; topic < topics; ++topic) {
    const auto of_topic = [&](const std::vector<double>& values) {
      std::vector<double> chosen;
      for (size_t i = 0; i < values.size(); ++i)
        if (s.topics[i] == topic) chosen.push_back(values[i]);
      return fmt::format("{:.3f}", mean_of(chosen));
    };
    table.rows.push_back({std::string(1, static_cast<char>('A' + topic)), of_topic(s.within),
                          fmt::format("{:.3f}", s.within_if_even), of_topic(s.before),
                          of_topic(s.after)});
  }
  lesson.table(table);
  lesson.say("longer.seen", fmt::arg("within", mean_of(s.within)),
             fmt::arg("even", s.within_if_even), fmt::arg("before", mean_of(s.before)),
             fmt::arg("after", mean_of(s.after)));
  figure_of_longer_sequence(lesson, s);
}

using plot::Matrix;

/// "c1", "c2", ...
Names channel_names(const Lesson& lesson, int64_t count) {
  Names names;
  for (int64_t i = 1; i <= count; ++i)
    names.push_back(lesson.word("steps.channel_short") + std::to_string(i));
  return names;
}

/// The matrix with a name for each row and column.
plot::Table matrix_table(const std::string& title, const Matrix& matrix, const Names& rows,
                         const Names& columns, int decimals) {
  plot::Table table{.title = title, .header = {""}, .rows = {}};
  table.header.insert(table.header.end(), columns.begin(), columns.end());
  for (int64_t i = 0; i < matrix.rows; ++i) {
    Names cells{rows[i]};
    for (int64_t j = 0; j < matrix.columns; ++j)
      cells.push_back(fmt::format("{:.{}f}", matrix.at(i, j), decimals));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// "1·2 + 0·3 = 2": a row of `a` times a column of `b`.
std::string worked_product(const Matrix& a, int64_t row, const Matrix& b, int64_t column,
                           int decimals) {
  std::string text;
  double sum = 0;
  for (int64_t k = 0; k < a.columns; ++k) {
    sum += a.at(row, k) * b.at(k, column);
    text += fmt::format("{}{:.{}f}·{:.0f}", k > 0 ? " + " : "", a.at(row, k), decimals,
                        b.at(k, column));
  }
  return fmt::format("{} = {:.{}f}", text, sum, decimals);
}

void figure_of_steps(Lesson& lesson, const AttentionSteps& steps, const Names& tokens,
                     const Names& channels) {
  plot::Figure figure{.title = lesson.word("steps.figure"), .columns = 4};
  const auto add = [&](const std::string& key, const Matrix& values, bool output) {
    figure.panels.push_back(plot::HeatMap{
        .title = lesson.word("steps." + key),
        .values = values,
        .row_names = tokens,
        .column_names = output ? channels : tokens,
        .x_label = lesson.word(output ? "steps.channel" : "steps.key"),
        .y_label = lesson.word("steps.query"),
        .colors = plot::ColorMap::Blues,
        .low = 0,
        .annotate = true,
        .color_bar = false,
    });
  };
  add("scores_table", steps.scores, false);
  add("scaled_table", steps.scaled, false);
  add("weights_table", steps.weights, false);
  add("output_table", steps.output, true);
  lesson.figure("01_attention_weights", figure, lesson.word("steps.caption"));
}

void teach_steps(Lesson& lesson) {
  const auto steps = attention_step_by_step();
  const Names tokens{lesson.word("tokens.0"), lesson.word("tokens.1"), lesson.word("tokens.2")};
  const auto channels = channel_names(lesson, steps.values.columns);
  const auto width = steps.queries.columns;
  const auto table = [&](const std::string& key, const Matrix& matrix, const Names& columns,
                         int decimals) {
    lesson.table(matrix_table(lesson.word("steps." + key), matrix, tokens, columns, decimals));
  };

  lesson.section("steps.title");
  lesson.say("steps.inputs", fmt::arg("width", width));
  table("queries_table", steps.queries, channels, 0);
  table("keys_table", steps.keys, channels, 0);
  table("values_table", steps.values, channels, 0);

  lesson.say("steps.scores", fmt::arg("query", tokens[1]), fmt::arg("key", tokens[2]));
  lesson.formula(worked_product(steps.queries, 1, transposed(steps.keys), 2, 0));
  table("scores_table", steps.scores, tokens, 0);
  lesson.say("steps.scaling", fmt::arg("width", width), fmt::arg("root", std::sqrt(width)));
  table("scaled_table", steps.scaled, tokens, 2);

  lesson.say("steps.softmax");
  lesson.formula("wᵢⱼ = exp(sᵢⱼ) / Σₖ exp(sᵢₖ)");
  auto weights = matrix_table(lesson.word("steps.weights_table"), steps.weights, tokens, tokens, 4);
  weights.header.push_back(lesson.word("steps.sum"));
  for (size_t i = 0; i < weights.rows.size(); ++i)
    weights.rows[i].push_back(fmt::format("{:.6f}", steps.row_sums[i]));
  lesson.table(weights);

  lesson.say("steps.output", fmt::arg("query", tokens[1]));
  lesson.formula(worked_product(steps.weights, 1, steps.values, 0, 4));
  table("output_table", steps.output, channels, 4);
  lesson.say("steps.output_seen", fmt::arg("value", steps.values.at(0, 3)));
  lesson.say("steps.check", fmt::arg("weights", steps.weights_difference),
             fmt::arg("output", steps.output_difference));
  figure_of_steps(lesson, steps, tokens, channels);
}

}  // namespace

void teach(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  lesson.formula("Attention(Q, K, V) = softmax(Q Kᵀ / √d) V");
  teach_steps(lesson);
  teach_scaling(lesson, options);
  teach_longer_sequence(lesson, options);
  lesson.section("summary.title");
  lesson.say("summary.text");
}

}  // namespace vitrine::labs::basics
