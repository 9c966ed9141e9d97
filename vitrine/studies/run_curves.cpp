#include "vitrine/studies/run_curves.h"

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

TimeCurve curve_of(const std::vector<MetricsLine>& lines, const std::vector<std::string>& kinds,
                   const std::string& name) {
  TimeCurve curve;
  for (const auto& line : lines) {
    const double value = line.value(name);
    if (std::find(kinds.begin(), kinds.end(), line.kind) == kinds.end()) continue;
    if (!std::isfinite(value)) continue;  // an epoch without evaluation
    curve.seconds.push_back(line.value("seconds"));
    curve.values.push_back(value);
  }
  return curve;
}

}  // namespace

TimeCurve training_curve(const std::vector<MetricsLine>& lines, const std::string& name) {
  return curve_of(lines, {"step"}, name);
}

TimeCurve validation_curve(const std::vector<MetricsLine>& lines, const std::string& name) {
  return curve_of(lines, {"evaluation", "epoch"}, "validation_" + name);
}

TimeCurve joined(const std::vector<TimeCurve>& curves) {
  TimeCurve all;
  for (const auto& curve : curves) {
    all.seconds.insert(all.seconds.end(), curve.seconds.begin(), curve.seconds.end());
    all.values.insert(all.values.end(), curve.values.begin(), curve.values.end());
  }
  return all;
}

TimeCurve binned(const TimeCurve& curve, int64_t bins) {
  if (curve.seconds.empty()) return {};
  const double end = *std::max_element(curve.seconds.begin(), curve.seconds.end());
  std::vector<double> seconds(bins), values(bins), counts(bins);
  for (size_t i = 0; i < curve.seconds.size(); ++i) {
    const auto place = static_cast<int64_t>(static_cast<double>(bins) * curve.seconds[i] / end);
    const auto bin = std::clamp<int64_t>(place, 0, bins - 1);
    seconds[bin] += curve.seconds[i];
    values[bin] += curve.values[i];
    ++counts[bin];
  }
  TimeCurve result;
  for (int64_t bin = 0; bin < bins; ++bin) {
    if (counts[bin] == 0) continue;
    result.seconds.push_back(seconds[bin] / counts[bin]);
    result.values.push_back(values[bin] / counts[bin]);
  }
  return result;
}

}  // namespace vitrine
