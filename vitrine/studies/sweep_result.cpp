#include "vitrine/studies/sweep_result.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace vitrine {

std::string SweepPoint::value(const std::string& key) const {
  for (const auto& [name, value] : settings)
    if (name == key) return value;
  return "";
}

std::optional<double> SweepPoint::number(const std::string& key) const {
  const auto text = value(key);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void put_setting(std::vector<Setting>& settings, const std::string& key, const std::string& value) {
  for (auto& [name, current] : settings) {
    if (name != key) continue;
    current = value;
    return;
  }
  settings.emplace_back(key, value);
}

bool PointResult::any_failed() const {
  return std::any_of(runs.begin(), runs.end(), [](const auto& run) { return run.failed(); });
}

bool PointResult::any_stopped(StopReason reason) const {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const auto& run) { return run.stopped(reason); });
}

std::vector<SweepRun> all_runs(const SweepResult& sweep) {
  std::vector<SweepRun> runs;
  for (const auto& point : sweep.points)
    runs.insert(runs.end(), point.runs.begin(), point.runs.end());
  return runs;
}

RunCounts count_runs(const SweepResult& sweep) {
  RunCounts counts;
  for (const auto& point : sweep.points)
    for (const auto& run : point.runs) {
      ++counts.runs;
      counts.over_budget += run.stopped(StopReason::OverBudget);
      counts.failed += run.failed();
    }
  return counts;
}

double test_figure(const RunOutcome& outcome) { return outcome.test_value(); }
double validation_figure(const RunOutcome& outcome) { return outcome.validation_value(); }
double test_loss_figure(const RunOutcome& outcome) { return outcome.test_loss(); }
double seconds_figure(const RunOutcome& outcome) { return outcome.seconds; }

MeanStd mean_std(const PointResult& point, const RunFigure& figure) {
  std::vector<double> values;
  for (const auto& run : point.runs)
    if (run.outcome) values.push_back(figure(*run.outcome));
  return mean_std(values);
}

std::optional<MeanStd> measured(const PointResult& point, const RunFigure& figure) {
  const auto result = mean_std(point, figure);
  if (result.count == 0 || !std::isfinite(result.mean)) return std::nullopt;
  return result;
}

}  // namespace vitrine
