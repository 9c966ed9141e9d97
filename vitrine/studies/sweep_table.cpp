#include "vitrine/studies/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "vitrine/core/progress.h"
#include "vitrine/studies/sweep_plan.h"

namespace vitrine {
namespace {

using Row = std::vector<std::string>;

/// Every key that a point sets, in order of appearance.
Row setting_keys(const SweepResult& result) {
  Row keys;
  for (const auto& point : result.points)
    for (const auto& [key, value] : point.point.settings)
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  return keys;
}

std::string quoted(const std::string& cell) {
  if (cell.find_first_of("\",\r\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

std::string csv_line(const Row& row) {
  Row cells;
  for (const auto& cell : row) cells.push_back(quoted(cell));
  return fmt::format("{}\n", fmt::join(cells, ","));
}

/// Empty where no accuracy is counted.
std::string accuracy_figure(double accuracy) {
  return std::isnan(accuracy) ? "" : fmt::format("{}", accuracy);
}

/// A run that failed has no figures.
Row figures(const RunResult& run) {
  if (run.end == RunEnd::Failed) return Row(7);
  return {accuracy_figure(run.accuracy),      accuracy_figure(run.validation_accuracy),
          fmt::format("{}", run.loss),        fmt::format("{}", run.epochs),
          fmt::format("{:.3f}", run.seconds), fmt::format("{}", run.parameters),
          fmt::format("{}", run.bytes)};
}

size_t letters(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

/// A Markdown table; the first row is its head, all columns stand to the right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size(), 3);
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], letters(row[i]));
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      text += fmt::format("| {}{} ", std::string(widths[i] - letters(row[i]), ' '), row[i]);
    text += "|\n";
    if (&row != &rows[0]) continue;
    for (const auto width : widths) text += fmt::format("| {}: ", std::string(width - 1, '-'));
    text += "|\n";
  }
  return text;
}

std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '|' ? "\\|" : std::string(1, c);
  return safe;
}

std::string setting_cell(const SweepPoint& point, const std::string& key) {
  const auto value = point.value(key);
  if (value.empty()) return "(recipe)";
  return key == point.axis ? fmt::format("**{}**", cell(value)) : cell(value);
}

int64_t count(const PointResult& point, RunEnd end) {
  return std::count_if(point.runs.begin(), point.runs.end(),
                       [&](const auto& run) { return run.end == end; });
}

/// A run at its goal: all answers are right, or the loss is as low as was wanted.
std::string reached_word(double accuracy) { return std::isnan(accuracy) ? "reached" : "exact"; }

/// "2/3 exact, 1 over budget".
std::string runs_cell(const PointResult& point, size_t seeds) {
  Row parts;
  const auto add = [&](int64_t runs, const std::string& what) {
    if (runs > 0) parts.push_back(fmt::format("{} {}", runs, what));
  };
  add(count(point, RunEnd::Finished), "finished");
  add(count(point, RunEnd::OverBudget), "over budget");
  add(count(point, RunEnd::Failed), "failed");
  add(static_cast<int64_t>(seeds - point.runs.size()), "to come");
  if (const auto exact = count(point, RunEnd::Reached); exact > 0)
    parts.insert(parts.begin(),
                 fmt::format("{}/{} {}", exact, seeds,
                             reached_word(spread(point, &RunResult::accuracy).mean)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string spread_cell(const Spread& s, int decimals, double scale = 1) {
  if (s.count == 0) return "-";
  const auto mean = fmt::format("{:.{}f}", scale * s.mean, decimals);
  return s.count == 1 || std::isnan(s.mean)
             ? mean
             : fmt::format("{} ± {:.{}f}", mean, scale * s.std, decimals);
}

std::string accuracy_cell(const PointResult& point) {
  const auto s = spread(point, &RunResult::accuracy);
  return std::isnan(s.mean) ? "-" : spread_cell(s, 2, /*scale=*/100);
}

/// What all seeds of a point have in common, or their mean.
std::string mean_cell(const PointResult& point, int64_t RunResult::*figure, int decimals,
                      double scale = 1) {
  double sum = 0;
  int64_t runs = 0;
  for (const auto& run : point.runs) {
    if (run.end == RunEnd::Failed) continue;
    sum += static_cast<double>(run.*figure);
    ++runs;
  }
  return runs == 0 ? "-"
                   : fmt::format("{:.{}f}", scale * sum / static_cast<double>(runs), decimals);
}

std::string per_run(double budget) {
  return budget > 0 ? fmt::format("at most {} s per run", budget) : "no limit of time";
}

std::string heading(const SweepConfig& config, const std::string& command) {
  auto text = fmt::format("# {}\n\nRecipe `{}`, {} {}, {}, {} {} each.\n", config.name,
                          config.recipe.string(), config.seeds.size() > 1 ? "seeds" : "seed",
                          fmt::join(config.seeds, ", "), per_run(config.budget), config.threads,
                          config.threads > 1 ? "threads" : "thread");
  if (!config.learning_rates.empty())
    text += fmt::format(
        "Learning rate of each point: the best of {}, each tried with seed {}, {} (search.csv).\n",
        fmt::join(config.learning_rates, ", "), config.seeds[0], per_run(config.search_budget));
  Row common;
  const auto varied = varied_keys(config);
  for (const auto& [key, value] : config.set)
    if (std::find(varied.begin(), varied.end(), key) == varied.end())
      common.push_back(fmt::format("`{}={}`", key, value));
  if (!common.empty()) text += fmt::format("Every run: {}.\n", fmt::join(common, ", "));
  if (config.seeds.size() > 1) text += "Means ± standard deviations over the seeds.\n";
  return text + fmt::format("\nMade by `{}`.\n\n", command);
}

}  // namespace

std::string end_text(RunEnd end) {
  switch (end) {
    case RunEnd::Reached:
      return "reached";
    case RunEnd::Finished:
      return "finished";
    case RunEnd::OverBudget:
      return "over budget";
    case RunEnd::Failed:
      break;
  }
  return "failed";
}

std::string run_note(const SweepPoint& point, const std::vector<std::string>& varied,
                     const RunResult& run) {
  std::string text;
  for (const auto& key : varied)
    if (point.axis.empty() || key == point.axis || key == kLearningRateKey)
      text += fmt::format("{}={} ", key.substr(key.rfind('.') + 1), point.value(key));
  text += fmt::format("seed {}: ", run.seed);
  if (run.end == RunEnd::Failed) return text + "failed";
  const auto time = " in " + duration_text(run.seconds);
  if (run.end == RunEnd::Reached) return text + reached_word(run.accuracy) + time;
  const auto score = std::isnan(run.accuracy) ? fmt::format("loss {:.4g}", run.loss)
                                              : fmt::format("{:.2f} %", 100 * run.accuracy);
  return text + (run.end == RunEnd::OverBudget ? "over budget, " + score : score + time);
}

std::string results_csv(const SweepResult& result) {
  const auto keys = setting_keys(result);
  auto head = keys;
  for (const auto* name : {"seed", "end", "accuracy", "validation_accuracy", "loss", "epochs",
                           "seconds", "parameters", "bytes", "error"})
    head.emplace_back(name);
  auto text = csv_line(head);
  std::set<fs::path> written;
  for (const auto& point : result.points) {
    for (const auto& run : point.runs) {
      if (!written.insert(run.folder).second) continue;
      Row row;
      for (const auto& key : keys) row.push_back(point.point.value(key));
      row.push_back(fmt::format("{}", run.seed));
      row.push_back(end_text(run.end));
      for (auto& figure : figures(run)) row.push_back(std::move(figure));
      row.push_back(run.error);
      text += csv_line(row);
    }
  }
  return text;
}

std::string results_markdown(const SweepResult& result, const SweepConfig& config,
                             const std::string& command) {
  constexpr double kKilobytes = 1e-3;
  const auto varied = varied_keys(config);
  std::vector<Row> rows = {varied};
  for (const auto* name :
       {"runs", "accuracy %", "loss", "seconds", "epochs", "parameters", "checkpoint KB"})
    rows[0].emplace_back(name);
  for (const auto& point : result.points) {
    Row row;
    for (const auto& key : varied) row.push_back(setting_cell(point.point, key));
    row.push_back(runs_cell(point, config.seeds.size()));
    row.push_back(accuracy_cell(point));
    row.push_back(spread_cell(spread(point, &RunResult::loss), 4));
    row.push_back(spread_cell(spread(point, &RunResult::seconds), 1));
    row.push_back(mean_cell(point, &RunResult::epochs, 0));
    row.push_back(mean_cell(point, &RunResult::parameters, 0));
    row.push_back(mean_cell(point, &RunResult::bytes, 1, kKilobytes));
    rows.push_back(std::move(row));
  }
  return heading(config, command) + aligned(rows);
}

}  // namespace vitrine
