#include "vitrine/studies/addition/findings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

constexpr double kLeastLead = 0.001;
const std::vector<std::string> kShownKeys = {kEmbedKey, kLayersKey, kChannelsKey, kHiddenKey,
                                             kLearningRateKey};

Lead lead_of(const PerArchitecture<MeanStd>& accuracy) {
  const double difference = accuracy.cnn.mean - accuracy.transformer.mean;
  const double noise = std::max(accuracy.cnn.std + accuracy.transformer.std, kLeastLead);
  if (std::abs(difference) <= noise) return Lead::Neither;
  return difference > 0 ? Lead::Cnn : Lead::Transformer;
}

const SweepRun* first_success(const PointResult& point) {
  for (const auto& run : point.runs)
    if (!run.failed()) return &run;
  return nullptr;
}

std::optional<double> parsed(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// "0.008" for "8e-3".
std::string plain_number(const std::string& text) {
  const auto number = parsed(text);
  return number ? fmt::format("{:g}", *number) : text;
}

}  // namespace

double setting_number(const SweepPoint& point, const std::string& key) {
  const auto number = parsed(point.value(key));
  check(number.has_value(), "addition: a point of a sweep has {} = '{}', which is not a number",
        key, point.value(key));
  return *number;
}

std::optional<MeanStd> measured(const PointResult& point, const RunFigure& figure) {
  const auto result = mean_std(point, figure);
  if (result.count == 0 || !std::isfinite(result.mean)) return std::nullopt;
  return result;
}

std::string settings_text(const std::vector<Setting>& settings) {
  std::string text;
  for (const auto& [key, value] : settings) {
    if (std::find(kShownKeys.begin(), kShownKeys.end(), key) == kShownKeys.end()) continue;
    if (!text.empty()) text += ", ";
    const auto name = key.substr(key.rfind('.') + 1);
    text += fmt::format("{} {}", name, key == kLearningRateKey ? plain_number(value) : value);
  }
  return text;
}

std::vector<const PointResult*> points_along(const SweepResult& sweep, const std::string& key) {
  std::vector<const PointResult*> points;
  for (const auto& point : sweep.points)
    if (point.point.axis == key) points.push_back(&point);
  std::sort(points.begin(), points.end(), [&](const auto* one, const auto* other) {
    return setting_number(one->point, key) < setting_number(other->point, key);
  });
  return points;
}

const PointResult* best_point(const SweepResult& sweep) {
  const PointResult* best = nullptr;
  double accuracy = 0, loss = 0;
  for (const auto& point : sweep.points) {
    const auto here = measured(point, validation_figure);
    if (!here) continue;
    const double here_loss =
        mean_std(point, [](const RunOutcome& outcome) { return outcome.validation_loss(); }).mean;
    const bool better =
        best == nullptr || here->mean > accuracy || (here->mean == accuracy && here_loss < loss);
    if (better) best = &point, accuracy = here->mean, loss = here_loss;
  }
  return best;
}

std::optional<double> accuracy_range(const SweepResult& sweep, const std::string& key) {
  std::vector<double> means;
  for (const auto* point : points_along(sweep, key))
    if (const auto accuracy = measured(*point, test_figure)) means.push_back(accuracy->mean);
  if (means.size() < 2) return std::nullopt;
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  return *high - *low;
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

std::vector<SharedPoint> shared_points(const PerArchitecture<std::optional<SweepResult>>& sweeps,
                                       const std::string& key) {
  std::vector<SharedPoint> shared;
  if (!sweeps.cnn || !sweeps.transformer) return shared;
  for (const auto& cnn : sweeps.cnn->points)
    for (const auto& transformer : sweeps.transformer->points) {
      const double value = setting_number(cnn.point, key);
      if (setting_number(transformer.point, key) != value) continue;
      const auto one = measured(cnn, test_figure);
      const auto other = measured(transformer, test_figure);
      if (!one || !other) continue;
      const PerArchitecture<MeanStd> accuracy{*one, *other};
      shared.push_back({value, accuracy, lead_of(accuracy)});
    }
  std::sort(shared.begin(), shared.end(),
            [](const auto& one, const auto& other) { return one.value < other.value; });
  return shared;
}

const SharedPoint* strongest_lead(const std::vector<SharedPoint>& points,
                                  AdditionArchitecture architecture) {
  const auto lead = architecture == AdditionArchitecture::Cnn ? Lead::Cnn : Lead::Transformer;
  const auto margin = [](const SharedPoint& point) {
    return std::abs(point.accuracy.cnn.mean - point.accuracy.transformer.mean);
  };
  const SharedPoint* strongest = nullptr;
  for (const auto& point : points)
    if (point.lead == lead && (strongest == nullptr || margin(point) > margin(*strongest)))
      strongest = &point;
  return strongest;
}

bool winner_flips(const std::vector<SharedPoint>& points) {
  return strongest_lead(points, AdditionArchitecture::Cnn) != nullptr &&
         strongest_lead(points, AdditionArchitecture::Transformer) != nullptr;
}

int64_t parameters_of(const PointResult& point) {
  const auto* run = first_success(point);
  return run == nullptr ? 0 : run->outcome->parameters;
}

int64_t bytes_of(const PointResult& point) {
  const auto* run = first_success(point);
  return run == nullptr ? 0 : run->outcome->checkpoint_bytes;
}

int64_t runs_with(const PointResult& point, double accuracy) {
  return std::count_if(point.runs.begin(), point.runs.end(), [&](const SweepRun& run) {
    return run.outcome && run.outcome->test_value() >= accuracy;
  });
}

const PointResult* smallest_point(const SweepResult& sweep, double accuracy) {
  const PointResult* smallest = nullptr;
  for (const auto& point : sweep.points) {
    if (runs_with(point, accuracy) == 0) continue;
    if (smallest == nullptr || parameters_of(point) < parameters_of(*smallest)) smallest = &point;
  }
  return smallest;
}

}  // namespace vitrine
