#pragma once

#include <string>
#include <vector>

#include "vitrine/train/metrics.h"

namespace vitrine {

/// A metric of one run over seconds of training; evaluations take none of them.
struct TimeCurve {
  std::vector<double> seconds{}, values{};
};

/// The metric `name` at each logged step.
TimeCurve training_curve(const std::vector<MetricsLine>& lines, const std::string& name);
/// The metric `name` on the validation split, at each evaluation.
TimeCurve validation_curve(const std::vector<MetricsLine>& lines, const std::string& name);

/// The points of all curves, curve after curve.
TimeCurve joined(const std::vector<TimeCurve>& curves);

/// The curve in at most `bins` equal spans of time, each with the mean of all its points.
TimeCurve binned(const TimeCurve& curve, int64_t bins);

}  // namespace vitrine
