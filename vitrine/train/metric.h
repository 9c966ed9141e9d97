#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace vitrine {

/// What a metric is, and so how its values are compared and shown.
struct Metric {
  std::string name{};  // as in metrics.jsonl and result.json: "accuracy"
  std::string unit{};  // "%": values are fractions, shown times 100; "" for plain numbers
  bool higher_is_better = false;
  bool log_scale = false;  // its curves span decades

  /// The value in the metric's unit.
  double in_unit(double value) const;
  /// The value for people: "98.25 %", "0.0313".
  std::string text(double value) const;
  /// The name with its unit, for axes and columns: "accuracy %".
  std::string label() const;
  /// Whether `value` is better than `other`; what is not a number is never better.
  bool better(double value, double other) const;
};

/// Values of metrics by name, in the order in which they are reported. Of a batch they are sums
/// over what was counted, of a split means.
using Metrics = std::vector<std::pair<std::string, double>>;

/// The name under which every objective reports its mean loss.
inline constexpr auto kLossName = "loss";

/// The value called `name`; NaN if there is none.
double metric_value(const Metrics& values, const std::string& name);

/// Whether an evaluation is better than the best one so far (empty: there is none): by the
/// selection metric, then by the loss.
bool better_evaluation(const Metrics& values, const Metrics& best, const Metric& selection);

/// "accuracy 98.25 % (loss 0.0631)": the metric `first`, then those of `metrics` whose value is
/// another.
std::string metrics_text(const Metrics& values, const std::vector<Metric>& metrics,
                         const Metric& first);

/// A JSON object; JSON knows no NaN and no infinity, so both are null there and NaN when read.
nlohmann::ordered_json metrics_json(const Metrics& values);
Metrics metrics_of_json(const nlohmann::ordered_json& json);

}  // namespace vitrine
