#pragma once

#include <functional>
#include <vector>

#include "vitrine/plot/figure.h"
#include "vitrine/studies/sweep_config.h"
#include "vitrine/studies/sweep_result.h"

namespace vitrine {

/// Points of a sweep, in the order in which a line goes through them.
using PointLine = std::vector<const PointResult*>;
/// Where a point stands on the x axis, and a number of a point for the y axis.
using PointPosition = std::function<double(const SweepPoint&)>;
using PointFigure = std::function<double(const PointResult&)>;

/// The value that the point gives to `key`, as a number; throws if it gives none.
double setting_number(const SweepPoint& point, const std::string& key);

/// The points on the axis `key` of a sweep of one setting at a time, by rising value; with the
/// axis "" all points of grids and lists.
PointLine points_along(const SweepResult& sweep, const std::string& key, const std::string& axis);

/// The mean of a figure over the runs of each point, the standard deviation as `error`. Points
/// without a number are left out.
plot::Series mean_series(const PointLine& points, const PointPosition& x, const RunFigure& figure);
/// A dot for each run that has the figure.
plot::Series run_series(const PointLine& points, const PointPosition& x, const RunFigure& figure);
/// A dot for each point that has something, such as a run that failed.
plot::Series marked_series(const PointLine& points, const PointPosition& x,
                           const std::function<bool(const PointResult&)>& has,
                           const PointFigure& y);

/// The selection metric on the validation and on the test split against each key that the sweep
/// varies, one panel per key: every run as a dot, a line through the means, a band of one standard
/// deviation. In grids each combination of the other keys has lines of its own, up to eight.
/// Without panels if no run has a result.
plot::Figure sweep_figure(const SweepResult& sweep, const SweepConfig& config);

}  // namespace vitrine
