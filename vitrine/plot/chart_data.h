#pragma once

#include <string>
#include <vector>

#include "vitrine/plot/colors.h"
#include "vitrine/plot/figure.h"

namespace vitrine::plot {

/// A series as it is drawn: histograms have become bars, samples the five numbers of a box.
struct Shape {
  std::string name;
  Mark mark = Mark::Line;
  Stroke stroke = Stroke::Solid;
  bool markers = false, rings = false, right = false, see_through = false;
  Color color;
  int marker = 7;
  double marker_size = 0.8;
  std::vector<double> x, y;
  std::vector<double> low, high;  // of the band or the error bars; may be empty
  double width = 0;               // of bars and boxes

  // A box: quartiles at `x[0]`, the ends of the whiskers, and the samples beyond them.
  double first_quartile = 0, median = 0, third_quartile = 0, least = 0, most = 0;
  std::vector<double> outliers;
};

/// Checks the series and works out what to draw; values an axis cannot show become NaN.
std::vector<Shape> chart_shapes(const Chart& chart, const std::string& who);

/// The span of finite values, or low > high if there are none.
struct Span {
  double low, high;
};
Span x_span(const std::vector<Shape>& shapes);
Span y_span(const std::vector<Shape>& shapes, bool right, bool log);

}  // namespace vitrine::plot
