#pragma once

#include "vitrine/studies/sparse/study.h"
#include "vitrine/train/metrics.h"

namespace vitrine::sparse {

/// The curves of `metric`, which is in bits per dim.
RunCurves curves_of(const std::vector<MetricsLine>& lines, const Metric& metric);
/// The curve in at most `bins` equal spans of time, each with the mean of all its points.
Curve binned(const Curve& curve, int64_t bins);
/// Gathers what the runs of a sweep left behind.
TrainedPart collect_curves(const SweepConfig& config, const SweepResult& result);

}  // namespace vitrine::sparse
