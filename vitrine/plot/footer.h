#pragma once

#include <string>
#include <vector>

#include "vitrine/plot/canvas.h"
#include "vitrine/plot/figure.h"

namespace vitrine::plot {

/// What stands under the panels of a figure: its legend of colours and its note.
class Footer {
 public:
  /// Lays both out in lines no wider than `width`.
  Footer(const Figure& figure, double width);

  /// With the gap to the panels; 0 where there is nothing to say.
  double height() const;
  void draw(Canvas& canvas, double left, double top) const;

 private:
  double width_;
  std::vector<std::vector<Swatch>> legend_;  // by line
  std::vector<std::string> note_;
};

}  // namespace vitrine::plot
