#include "vitrine/studies/addition/findings.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace vitrine::addition {
namespace {

constexpr double kLeastLead = 0.001;
const std::set<std::string> kShownKeys = {kEmbedKey, kLayersKey, kChannelsKey, kHiddenKey,
                                          kLearningRateKey};

double difference(const PerArchitecture<MeanStd>& accuracy) {
  return accuracy.cnn.mean - accuracy.transformer.mean;
}

std::optional<Architecture> lead_of(const PerArchitecture<MeanStd>& accuracy) {
  const double noise = std::max(accuracy.cnn.std + accuracy.transformer.std, kLeastLead);
  if (std::abs(difference(accuracy)) <= noise) return std::nullopt;
  return difference(accuracy) > 0 ? Architecture::Cnn : Architecture::Transformer;
}

}  // namespace

std::string settings_text(const std::vector<Setting>& settings) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : settings) {
    if (!kShownKeys.contains(key)) continue;
    const auto rate = SweepPoint{"", settings}.number(kLearningRateKey);
    const bool plain = key == kLearningRateKey && rate;  // "0.008" for "8e-3"
    parts.push_back(fmt::format("{} {}", key.substr(key.rfind('.') + 1),
                                plain ? fmt::format("{:g}", *rate) : value));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
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
  const auto no_place = [](const SweepPoint&) { return 0; };
  const auto means = mean_series(points_along(sweep, key, key), no_place, test_figure).y;
  if (means.size() < 2) return std::nullopt;
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  return *high - *low;
}

std::vector<SharedPoint> shared_points(const Sweeps& sweeps, const std::string& key) {
  std::vector<SharedPoint> shared;
  for (const auto& cnn : sweeps.cnn.points)
    for (const auto& transformer : sweeps.transformer.points) {
      const double value = setting_number(cnn.point, key);
      const auto one = measured(cnn, test_figure), other = measured(transformer, test_figure);
      if (setting_number(transformer.point, key) != value || !one || !other) continue;
      const PerArchitecture<MeanStd> accuracy{*one, *other};
      shared.push_back({value, accuracy, lead_of(accuracy)});
    }
  std::sort(shared.begin(), shared.end(),
            [](const auto& one, const auto& other) { return one.value < other.value; });
  return shared;
}

const SharedPoint* strongest_lead(const std::vector<SharedPoint>& points, Architecture network) {
  const auto margin = [](const SharedPoint& point) { return std::abs(difference(point.accuracy)); };
  const SharedPoint* strongest = nullptr;
  for (const auto& point : points)
    if (point.lead == network && (strongest == nullptr || margin(point) > margin(*strongest)))
      strongest = &point;
  return strongest;
}

bool winner_flips(const std::vector<SharedPoint>& points) {
  return std::all_of(kArchitectures.begin(), kArchitectures.end(), [&](Architecture network) {
    return strongest_lead(points, network) != nullptr;
  });
}

int64_t size_of(const PointResult& point, int64_t RunOutcome::*size) {
  for (const auto& run : point.runs)
    if (run.outcome) return (*run.outcome).*size;
  return 0;
}

int64_t runs_with(const PointResult& point, double accuracy) {
  return std::count_if(point.runs.begin(), point.runs.end(), [&](const SweepRun& run) {
    return run.outcome && run.outcome->test_value() >= accuracy;
  });
}

const PointResult* smallest_point(const SweepResult& sweep, double accuracy) {
  const auto parameters = [](const PointResult& p) { return size_of(p, &RunOutcome::parameters); };
  const PointResult* smallest = nullptr;
  for (const auto& point : sweep.points) {
    if (runs_with(point, accuracy) == 0) continue;
    if (smallest == nullptr || parameters(point) < parameters(*smallest)) smallest = &point;
  }
  return smallest;
}

bool any_wrong(const AnswersOfBoth& answers) {
  for (const auto network : kArchitectures)
    for (const auto& run : answers.of(network))
      if (right_answers(run) < kAdditionPairs) return true;
  return false;
}

}  // namespace vitrine::addition
