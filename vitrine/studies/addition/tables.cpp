#include "vitrine/studies/addition/tables.h"

#include <algorithm>
namespace vitrine {
namespace {

constexpr size_t kTopDeviations = 5;

std::string kilobytes(int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 1000);
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const auto& cell : cells) text += fmt::format(" {} |", cell);
  return text + "\n";
}

std::vector<AdditionAnswers> answers_of(const std::vector<TrainedNetwork>& runs) {
  std::vector<AdditionAnswers> answers;
  for (const auto& run : runs) answers.push_back(run.answers);
  return answers;
}

std::string with_std(const MeanStd& accuracy) {
  return fmt::format("{:.2f} ± {:.2f}", 100 * accuracy.mean, 100 * accuracy.std);
}

std::string as_learning_rate(double value) { return fmt::format("{:g}", value); }
std::string as_training_percent(double held_out) {
  return fmt::format("{:g}", 100 * (1 - held_out));
}

Table comparison(const std::string& title, const std::string& value_name,
                 const std::vector<SharedPoint>& points, std::string (*shown)(double),
                 Language language) {
  const auto& w = table_words(language);
  const auto& names = figure_words(language).architecture;
  Table table{title,
              {value_name, filled(w.accuracy_of, names.cnn),
               filled(w.accuracy_of, names.transformer), w.ahead}};
  for (const auto& point : points)
    table.rows.push_back({shown(point.value), with_std(point.accuracy.cnn),
                          with_std(point.accuracy.transformer),
                          point.lead == Lead::Neither ? w.neither
                          : point.lead == Lead::Cnn   ? names.cnn
                                                      : names.transformer});
  return table;
}

struct SmallRow {
  AdditionArchitecture architecture;
  const PointResult* point;
};

}  // namespace

std::string markdown(const Table& table) {
  auto text = fmt::format("### {}\n\n", table.title) + markdown_row(table.header) + "|";
  for (size_t i = 0; i < table.header.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : table.rows) text += markdown_row(row);
  return text;
}

Table rates_table(const std::vector<SharedPoint>& points, Language language) {
  const auto& w = table_words(language);
  return comparison(w.rates_title, w.learning_rate, points, as_learning_rate, language);
}

Table held_out_table(const std::vector<SharedPoint>& points, Language language) {
  const auto& w = table_words(language);
  return comparison(w.held_out_title, w.training_pairs, {points.rbegin(), points.rend()},
                    as_training_percent, language);
}

Table deviations_table(const PerArchitecture<std::vector<TrainedNetwork>>& runs,
                       const std::string& which, Language language) {
  const auto& w = table_words(language);
  Table table{filled(w.deviations_title, which), {w.rank}};
  for (const auto architecture : kArchitectures) {
    const auto top = top_deviations(answers_of(runs.of(architecture)), kTopDeviations);
    if (top.empty()) continue;
    const auto name = figure_words(language).architecture.of(architecture);
    for (const auto& heading : {w.deviation, w.count, w.share})
      table.header.push_back(filled(heading, name));
    const size_t columns = table.header.size();
    for (size_t i = 0; i < std::max(top.size(), table.rows.size()); ++i) {
      if (i == table.rows.size()) table.rows.push_back({std::to_string(i + 1)});
      auto& row = table.rows[i];
      row.resize(columns - 3);
      if (i < top.size())
        row.insert(row.end(), {fmt::format("{:+}", top[i].value), with_commas(top[i].count),
                               fmt::format("{:.1f}", 100 * top[i].share)});
      row.resize(columns);
    }
  }
  return table;
}

Table small_table(const PerArchitecture<std::optional<SweepResult>>& sweeps, Language language) {
  const auto& w = table_words(language);
  std::vector<SmallRow> rows;
  for (const auto architecture : kArchitectures)
    if (sweeps.of(architecture))
      for (const auto& point : sweeps.of(architecture)->points)
        if (measured(point, test_figure)) rows.push_back({architecture, &point});
  std::stable_sort(rows.begin(), rows.end(), [](const SmallRow& one, const SmallRow& other) {
    return parameters_of(*one.point) < parameters_of(*other.point);
  });
  Table table{w.small_title,
              {w.parameters, w.network, w.settings, w.checkpoint, w.accuracy_spread, w.all_right}};
  for (const auto& [architecture, point] : rows) {
    const auto accuracy = mean_std(*point, test_figure);
    const auto right = std::count_if(point->runs.begin(), point->runs.end(), [](const auto& run) {
      return run.outcome && run.outcome->test_value() == 1;
    });
    table.rows.push_back({with_commas(parameters_of(*point)),
                          figure_words(language).architecture.of(architecture),
                          settings_text(point->point.settings), kilobytes(bytes_of(*point)),
                          with_std(accuracy), fmt::format("{} / {}", right, point->runs.size())});
  }
  return table;
}

}  // namespace vitrine
