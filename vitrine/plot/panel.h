#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vitrine/plot/canvas.h"
#include "vitrine/plot/figure.h"

namespace vitrine::plot {

/// The room a panel wants: its drawing and what stands around it (title, numbers, names, legend).
struct Extent {
  double width = 0, height = 0;
  double left = 0, right = 0, top = 0, bottom = 0;
};

/// A panel that has been measured and can be drawn.
class PanelPlan {
 public:
  virtual ~PanelPlan() = default;
  virtual Extent extent() const = 0;
  /// Draws into `inner`, which is at least as large as the extent's width and height.
  virtual void draw(Canvas& canvas, const Rect& inner) const = 0;
};

/// What the panels of a figure have in common.
struct Shared {
  size_t panels = 1;
  std::optional<ColorRange> colors{};  // one range for all heat maps
};

/// Checks the panel and measures it; `who` names it in errors.
std::unique_ptr<PanelPlan> plan(const Chart& chart, const Shared& shared, const std::string& who);
std::unique_ptr<PanelPlan> plan(const HeatMap& map, const Shared& shared, const std::string& who);
std::unique_ptr<PanelPlan> plan(const ImagePanel& panel, const Shared& shared,
                                const std::string& who);

/// Throws unless the matrix has cells and a value for each.
void check_matrix(const Matrix& matrix, const std::string& who);

/// The height of a title wrapped to `width`, with the gap under it; 0 without a title.
double title_height(const std::string& title, double width, double size);
/// The title over `inner`, wrapped to `width`.
void draw_title(Canvas& canvas, const Rect& inner, const std::string& title, double width,
                double size);

/// A bar of colours with its numbers and label.
struct ColorBar {
  ColorMap map;
  ColorRange range;
  std::string label{};
  std::vector<ColorTick> ticks{};  // none: round numbers

  double room() const;
  /// Its left edge at `left`, `height` high from `top`.
  void draw(Canvas& canvas, double left, double top, double height) const;
};

}  // namespace vitrine::plot
