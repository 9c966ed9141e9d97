#include "vitrine/studies/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "vitrine/core/csv.h"
#include "vitrine/core/progress.h"
#include "vitrine/report/terminal.h"
#include "vitrine/studies/sweep_plan.h"

namespace vitrine {
namespace {

using report::display_width;
using Row = std::vector<std::string>;

/// Every key that a point sets, in order of appearance.
Row setting_keys(const SweepResult& result) {
  Row keys;
  for (const auto& point : result.points)
    for (const auto& [key, value] : point.point.settings)
      if (!contains(keys, key)) keys.push_back(key);
  return keys;
}

/// Every metric that a run has on one of its splits, in order of appearance.
Row metric_names(const SweepResult& result, Metrics RunOutcome::*split) {
  Row names;
  for (const auto& point : result.points)
    for (const auto& run : point.runs)
      if (run.outcome)
        for (const auto& [name, value] : (*run.outcome).*split)
          if (!contains(names, name)) names.push_back(name);
  return names;
}

/// Empty where it was not measured.
std::string number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

/// A Markdown table; the first row is its head, all columns stand to the right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<int64_t> widths(rows[0].size(), 3);
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      text += fmt::format("| {}{} ", std::string(widths[i] - display_width(row[i]), ' '), row[i]);
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

int64_t count(const PointResult& point, StopReason reason) {
  return std::count_if(point.runs.begin(), point.runs.end(),
                       [&](const auto& run) { return run.stopped(reason); });
}

/// A run at its goal: without an error, or as good as was wanted.
std::string reached_word(const RunOutcome& outcome) {
  const auto& metric = outcome.selection_metric;
  return !metric.unit.empty() && metric.higher_is_better && outcome.validation_value() == 1
             ? "exact"
             : "reached";
}

/// "2/3 exact, 1 over budget".
std::string runs_cell(const PointResult& point, size_t seeds) {
  Row parts;
  const auto add = [&](int64_t runs, const std::string& what) {
    if (runs > 0) parts.push_back(fmt::format("{} {}", runs, what));
  };
  add(count(point, StopReason::Finished) + count(point, StopReason::StoppedEarly), "finished");
  add(count(point, StopReason::OverBudget), "over budget");
  add(std::count_if(point.runs.begin(), point.runs.end(),
                    [](const auto& run) { return run.failed(); }),
      "failed");
  add(static_cast<int64_t>(seeds - point.runs.size()), "to come");
  const auto reached = std::find_if(point.runs.begin(), point.runs.end(), [](const auto& run) {
    return run.stopped(StopReason::ReachedGoal);
  });
  if (reached != point.runs.end())
    parts.insert(parts.begin(), fmt::format("{}/{} {}", count(point, StopReason::ReachedGoal),
                                            seeds, reached_word(*reached->outcome)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "-" without a number.
std::string mean_std_cell(const MeanStd& s, int decimals, double scale = 1) {
  return s.count == 0 || std::isnan(s.mean) ? "-" : mean_std_text(s, decimals, scale);
}

/// A metric of one split, for the column's head and for its cells.
struct MetricColumn {
  std::string split;
  Metrics RunOutcome::*values;
  Metric metric;

  std::string head() const { return split + " " + metric.label(); }
  std::string cell(const PointResult& point) const {
    const auto s = mean_std(point, [&](const RunOutcome& outcome) {
      return metric_value(outcome.*values, metric.name);
    });
    return mean_std_cell(s, metric.unit.empty() ? 4 : 2, metric.in_unit(1));
  }
};

/// Whether all runs came to the same value of both metrics on the test split.
bool same_values(const SweepResult& result, const std::string& one, const std::string& other) {
  for (const auto& point : result.points)
    for (const auto& run : point.runs)
      if (run.outcome &&
          metric_value(run.outcome->test, one) != metric_value(run.outcome->test, other))
        return false;
  return true;
}

/// The selection metric, then the other metrics of the test split, then what chose between them.
std::vector<MetricColumn> metric_columns(const SweepResult& result) {
  for (const auto& point : result.points)
    for (const auto& run : point.runs) {
      if (!run.outcome) continue;
      const auto& selection = run.outcome->selection_metric;
      std::vector<MetricColumn> columns = {{"test", &RunOutcome::test, selection}};
      for (const auto& name : metric_names(result, &RunOutcome::test))
        if (!same_values(result, name, selection.name))
          columns.push_back({"test", &RunOutcome::test, {.name = name}});
      columns.push_back({"validation", &RunOutcome::validation, selection});
      return columns;
    }
  return {};
}

/// What all seeds of a point have in common, or their mean.
std::string mean_cell(const PointResult& point, int64_t RunOutcome::*figure, int decimals,
                      double scale = 1) {
  const auto s = mean_std(
      point, [&](const RunOutcome& outcome) { return static_cast<double>(outcome.*figure); });
  return s.count == 0 ? "-" : fmt::format("{:.{}f}", scale * s.mean, decimals);
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
        "Learning rate of each point: the best of {} on the validation split, each tried with seed "
        "{}, "
        "{} (search.csv).\n",
        fmt::join(config.learning_rates, ", "), config.seeds[0], per_run(config.search_budget));
  Row common;
  const auto varied = varied_keys(config);
  for (const auto& [key, value] : config.set)
    if (!contains(varied, key)) common.push_back(fmt::format("`{}={}`", key, value));
  if (!common.empty()) text += fmt::format("Every run: {}.\n", fmt::join(common, ", "));
  if (config.seeds.size() > 1) text += "Means ± standard deviations over the seeds.\n";
  return text + fmt::format("\nMade by `{}`.\n\n", command);
}

}  // namespace

std::string run_note(const SweepPoint& point, const std::vector<std::string>& varied,
                     const SweepRun& run) {
  std::string text;
  for (const auto& key : varied)
    if (point.axis.empty() || key == point.axis || key == kLearningRateKey)
      text += fmt::format("{}={} ", key.substr(key.rfind('.') + 1), point.value(key));
  text += fmt::format("seed {}: ", run.seed);
  if (run.failed()) return text + "failed";
  const auto& outcome = *run.outcome;
  const auto time = " in " + duration_text(outcome.seconds);
  if (run.stopped(StopReason::ReachedGoal)) return text + reached_word(outcome) + time;
  const auto& metric = outcome.selection_metric;
  const auto value =
      fmt::format("validation {} {}", metric.name, metric.text(outcome.validation_value()));
  return text + (run.stopped(StopReason::OverBudget) ? "over budget, " + value : value + time);
}

std::string results_csv(const SweepResult& result) {
  const auto keys = setting_keys(result);
  const auto test = metric_names(result, &RunOutcome::test),
             validation = metric_names(result, &RunOutcome::validation);
  auto head = keys;
  head.insert(head.end(), {"seed", "stop_reason"});
  for (const auto& name : test) head.push_back("test_" + name);
  for (const auto& name : validation) head.push_back("validation_" + name);
  head.insert(head.end(), {"epochs", "seconds", "parameters", "bytes", "error"});
  auto text = csv_line(head);
  std::set<fs::path> written;
  for (const auto& point : result.points) {
    for (const auto& run : point.runs) {
      if (!written.insert(run.folder).second) continue;
      Row row;
      for (const auto& key : keys) row.push_back(point.point.value(key));
      row.push_back(fmt::format("{}", run.seed));
      if (run.outcome) {
        const auto& o = *run.outcome;
        row.push_back(stop_reason_name(o.stop_reason));
        for (const auto& name : test) row.push_back(number(metric_value(o.test, name)));
        for (const auto& name : validation) row.push_back(number(metric_value(o.validation, name)));
        row.insert(row.end(),
                   {fmt::format("{}", o.epochs), fmt::format("{:.3f}", o.seconds),
                    fmt::format("{}", o.parameters), fmt::format("{}", o.checkpoint_bytes), ""});
      } else {
        row.push_back("failed");
        row.resize(head.size() - 1);
        row.push_back(run.error);
      }
      text += csv_line(row);
    }
  }
  return text;
}

std::string results_markdown(const SweepResult& result, const SweepConfig& config,
                             const std::string& command) {
  constexpr double kKilobytes = 1e-3;
  const auto varied = varied_keys(config);
  const auto columns = metric_columns(result);
  std::vector<Row> rows = {varied};
  rows[0].emplace_back("runs");
  for (const auto& column : columns) rows[0].push_back(column.head());
  for (const auto* name : {"seconds", "epochs", "parameters", "checkpoint KB"})
    rows[0].emplace_back(name);
  for (const auto& point : result.points) {
    Row row;
    for (const auto& key : varied) row.push_back(setting_cell(point.point, key));
    row.push_back(runs_cell(point, config.seeds.size()));
    for (const auto& column : columns) row.push_back(column.cell(point));
    row.push_back(mean_std_cell(mean_std(point, seconds_figure), 1));
    row.push_back(mean_cell(point, &RunOutcome::epochs, 0));
    row.push_back(mean_cell(point, &RunOutcome::parameters, 0));
    row.push_back(mean_cell(point, &RunOutcome::checkpoint_bytes, 1, kKilobytes));
    rows.push_back(std::move(row));
  }
  return heading(config, command) + aligned(rows);
}

}  // namespace vitrine
