#pragma once

#include <vector>

#include "vitrine/plot/canvas.h"
#include "vitrine/plot/chart_data.h"
#include "vitrine/plot/ticks.h"

namespace vitrine::plot {

struct ChartAxes {
  const Ticks &x, &y, &right;
  bool named = false;  // names instead of numbers along x: no lines up from them
};

/// A point of the chart's area: 0 .. 1 from the left and from the bottom.
struct Place {
  double x, y;
};

/// Points close enough together to tell which parts of the area the series enter.
std::vector<Place> shape_traces(const std::vector<Shape>& shapes, const ChartAxes& axes);

/// The axes' lines, the grid and the series.
void draw_shapes(Canvas& canvas, const Rect& inner, const std::vector<Shape>& shapes,
                 const ChartAxes& axes);

}  // namespace vitrine::plot
