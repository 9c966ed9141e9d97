#include <cmath>

#include "vitrine/labs/basics_numbers.h"
#include "vitrine/labs/basics_parts.h"
#include "vitrine/labs/lab.h"

namespace vitrine::labs {
namespace {

using plot::Matrix;
using Names = std::vector<std::string>;

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

Matrix columns_of(const Matrix& rows) {
  Matrix result{rows.columns, rows.rows, {}};
  for (int64_t j = 0; j < rows.columns; ++j)
    for (int64_t i = 0; i < rows.rows; ++i) result.values.push_back(rows.at(i, j));
  return result;
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
  lesson.formula(worked_product(steps.queries, 1, columns_of(steps.keys), 2, 0));
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

void teach_basics(Lesson& lesson, const LabOptions& options) {
  lesson.say("intro");
  lesson.formula("Attention(Q, K, V) = softmax(Q Kᵀ / √d) V");
  teach_steps(lesson);
  teach_scaling(lesson, options);
  teach_longer_sequence(lesson, options);
  lesson.section("summary.title");
  lesson.say("summary.text");
}

}  // namespace vitrine::labs
