#include "vitrine/train/metric.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

constexpr auto kPercent = "%";

}  // namespace

double Metric::in_unit(double value) const { return unit == kPercent ? 100 * value : value; }

std::string Metric::text(double value) const {
  if (unit == kPercent) return fmt::format("{:.2f} {}", in_unit(value), unit);
  const auto number =
      std::abs(value) >= 0.01 ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
  return unit.empty() ? number : number + " " + unit;
}

std::string Metric::label() const { return unit.empty() ? name : name + " " + unit; }

bool Metric::better(double value, double other) const {
  if (std::isnan(value) || std::isnan(other)) return !std::isnan(value);
  return higher_is_better ? value > other : value < other;
}

double metric_value(const Metrics& values, const std::string& name) {
  for (const auto& [known, value] : values)
    if (known == name) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

bool better_evaluation(const Metrics& values, const Metrics& best, const Metric& selection) {
  const double now = metric_value(values, selection.name),
               before = metric_value(best, selection.name);
  if (best.empty() || selection.better(now, before)) return true;
  return now == before && metric_value(values, kLossName) < metric_value(best, kLossName);
}

std::string metrics_text(const Metrics& values, const std::vector<Metric>& metrics,
                         const Metric& first) {
  const double selected = metric_value(values, first.name);
  std::vector<std::string> others;  // without the first one under another name
  for (const auto& metric : metrics)
    if (const double value = metric_value(values, metric.name); value != selected)
      others.push_back(metric.name + " " + metric.text(value));
  const auto text = first.name + " " + first.text(selected);
  return others.empty() ? text : fmt::format("{} ({})", text, fmt::join(others, ", "));
}

nlohmann::ordered_json metrics_json(const Metrics& values) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) json[name] = value;
  return json;
}

Metrics metrics_of_json(const nlohmann::ordered_json& json) {
  Metrics values;
  for (const auto& [name, value] : json.items())
    values.emplace_back(
        name, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  return values;
}

}  // namespace vitrine
