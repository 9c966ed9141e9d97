#pragma once

#include <string>
#include <vector>

#include "vitrine/plot/canvas.h"

namespace vitrine::plot {

/// Each name on one line, shortened if very long.
std::vector<std::string> short_names(const std::vector<std::string>& names);

/// The width of the widest one in small text.
double widest_name(const std::vector<std::string>& names);

/// Names under slots of equal width: level where they fit, else slanted; thinned where slots are
/// narrower than a line is high.
class NameRow {
 public:
  NameRow(std::vector<std::string> names, double slot);

  double height() const;
  /// How far slanted names stick out to the left of the first slot.
  double overhang() const;
  void draw(Canvas& canvas, double left, double top, double slot) const;

 private:
  std::vector<std::string> names_;
  double slot_, widest_;
  bool slanted_;
};

/// The label of an axis, on a second line if it is longer than the axis.
class AxisLabel {
 public:
  AxisLabel(const std::string& label, double length);

  /// What it takes away from the axis, with the gap before it; 0 without a label.
  double room() const;
  /// Under an axis: the room ends at `bottom`.
  void draw_level(Canvas& canvas, double middle, double bottom) const;
  /// Beside an axis, read from below: the room is from `left` to `left` + room().
  void draw_upright(Canvas& canvas, double left, double middle) const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace vitrine::plot
