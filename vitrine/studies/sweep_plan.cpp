#include "vitrine/studies/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace vitrine {
namespace {

constexpr size_t kLongestName = 200;

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001B3;
  return hash;
}

std::string plain_letters(std::string text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '+';
  };
  std::replace_if(
      text.begin(), text.end(), [&](char c) { return !is_plain(c); }, '_');
  return text;
}

/// All combinations; the last axis changes fastest.
std::vector<SweepPoint> grid_points(const SweepConfig& config) {
  std::vector<SweepPoint> points = {{"", config.set}};
  for (const auto& axis : config.grid) {
    std::vector<SweepPoint> finer;
    for (const auto& point : points)
      for (const auto& value : axis.values) finer.push_back(with_setting(point, axis.key, value));
    points = std::move(finer);
  }
  return points;
}

std::vector<SweepPoint> list_points(const SweepConfig& config) {
  std::vector<SweepPoint> points(config.list[0].values.size(), {"", config.set});
  for (const auto& axis : config.list)
    for (size_t i = 0; i < points.size(); ++i)
      points[i] = with_setting(points[i], axis.key, axis.values[i]);
  return points;
}

/// Smaller is better. Only the validation split counts.
auto rank(const PointResult& attempt) {
  constexpr auto kWorst = std::numeric_limits<double>::infinity();
  const auto& run = attempt.runs.at(0);
  const auto outcome = run.outcome.value_or(RunOutcome{});
  const bool reached = run.stopped(StopReason::ReachedGoal);
  const double value = outcome.validation_value(), loss = outcome.validation_loss();
  const double cost = outcome.selection_metric.higher_is_better ? -value : value;
  return std::tuple(run.failed(), !reached, reached ? outcome.epochs : 0,
                    std::isnan(cost) ? kWorst : cost, std::isnan(loss) ? kWorst : loss,
                    std::stod(attempt.point.value(kLearningRateKey)));
}

}  // namespace

std::vector<SweepPoint> sweep_points(const SweepConfig& config) {
  std::vector<SweepPoint> points;
  for (const auto& axis : config.one_at_a_time)
    for (const auto& value : axis.values)
      points.push_back(with_setting({axis.key, config.set}, axis.key, value));
  if (!config.grid.empty())
    for (auto& point : grid_points(config)) points.push_back(std::move(point));
  if (!config.list.empty())
    for (auto& point : list_points(config)) points.push_back(std::move(point));
  return points;
}

std::vector<std::string> varied_keys(const SweepConfig& config) {
  std::vector<std::string> keys;
  for (const auto* axes : {&config.one_at_a_time, &config.grid, &config.list})
    for (const auto& axis : *axes)
      if (!contains(keys, axis.key)) keys.push_back(axis.key);
  if (!config.learning_rates.empty()) keys.push_back(kLearningRateKey);
  return keys;
}

SweepPoint with_setting(SweepPoint point, const std::string& key, const std::string& value) {
  put_setting(point.settings, key, value);
  return point;
}

std::string run_name(const SweepPoint& point, const std::vector<std::string>& varied,
                     int64_t seed) {
  std::map<std::string, std::string> sorted;  // a name must not depend on the order in the file
  for (const auto& [key, value] : point.settings)
    if (contains(varied, key)) sorted[key] = value;
  std::string exact, plain;
  for (const auto& [key, value] : sorted) {
    exact += fmt::format("{}={},", key, value);
    plain += fmt::format("{}={},", key, plain_letters(value));
  }
  exact += fmt::format("seed={}", seed);
  plain += fmt::format("seed={}", seed);
  if (plain == exact && plain.size() < kLongestName) return plain;
  const auto hash = fmt::format("-{:016x}", fnv1a(exact));
  return plain.substr(0, kLongestName - 1 - hash.size()) + hash;
}

std::vector<std::string> run_overrides(const SweepPoint& point, int64_t seed, double budget) {
  std::vector<std::string> all;
  for (const auto& [key, value] : point.settings) all.push_back(fmt::format("{}={}", key, value));
  all.push_back(fmt::format("seed={}", seed));
  if (budget > 0) all.push_back(fmt::format("{}={}", kBudgetKey, budget));
  return all;
}

std::vector<SweepPoint> with_learning_rates(const std::vector<SweepPoint>& points,
                                            const std::vector<std::string>& rates) {
  std::vector<SweepPoint> tries;
  for (const auto& point : points)
    for (const auto& rate : rates) tries.push_back(with_setting(point, kLearningRateKey, rate));
  return tries;
}

std::vector<SweepPoint> best_tries(const SweepResult& search, size_t rates) {
  const auto step = static_cast<std::ptrdiff_t>(rates);
  std::vector<SweepPoint> points;
  for (auto first = search.points.begin(); first != search.points.end(); first += step)
    points.push_back(std::min_element(first, first + step, [](const auto& a, const auto& b) {
                       return rank(a) < rank(b);
                     })->point);
  return points;
}

}  // namespace vitrine
