#pragma once

#include <vector>

#include "vitrine/plot/canvas.h"
#include "vitrine/plot/chart_data.h"

namespace vitrine::plot {

/// gnuplot's dash pattern for a stroke.
std::string dashes(Stroke stroke);

/// The names of a chart's series with a sample of each.
class Legend {
 public:
  explicit Legend(const std::vector<Shape>& shapes);

  bool empty() const { return entries_.empty(); }
  /// From now on in as many columns as fit into `width`, instead of one.
  void spread_over(double width);
  double width() const;
  double height() const;
  void draw(Canvas& canvas, double left, double top) const;

 private:
  double entry_width() const;

  std::vector<Shape> entries_;
  size_t columns_ = 1;
};

}  // namespace vitrine::plot
