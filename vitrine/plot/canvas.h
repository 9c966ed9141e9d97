#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vitrine/core/image.h"
#include "vitrine/plot/colors.h"
#include "vitrine/plot/gnuplot.h"

namespace vitrine::plot {

/// Lengths are CSS pixels (96 to the inch); a PNG has `kPixelRatio` dots to each.
inline constexpr double kPixelRatio = 2;

inline constexpr double kSmallText = 11, kText = 12, kPanelTitle = 13, kFigureTitle = 15;
inline constexpr double kLineHeight = 1.3;
inline constexpr Color kInk{0x22, 0x22, 0x22}, kFaint{0x66, 0x66, 0x66}, kGridInk{0xE4, 0xE4, 0xE4};

struct Rect {
  double left = 0, top = 0, width = 0, height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
  double middle_x() const { return left + width / 2; }
  double middle_y() const { return top + height / 2; }
};

enum class Align { Left, Center, Right };

struct TextStyle {
  double size = kText;
  Align align = Align::Left;
  bool bold = false;
  double rotate = 0;  // degrees, against the clock
  Color color = kInk;
};

struct LineStyle {
  Color color = kInk;
  double width = 1;
  std::string dashes = "solid";  // as gnuplot's dashtype takes them
};

/// Collects what a figure is made of, in pixels from the top left, and has gnuplot render it.
class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}

  /// One line of text, its middle at height `y`.
  void text(double x, double y, std::string_view text, const TextStyle& style);
  /// Lines of text from `top` down.
  void paragraph(double x, double top, const std::vector<std::string>& lines,
                 const TextStyle& style);
  void line(double x1, double y1, double x2, double y2, const LineStyle& style);
  void marker(double x, double y, int shape, Color color);
  void fill(const Rect& rect, Color color, double opacity);
  void frame(const Rect& rect, Color color);
  void image(const Rect& rect, const Image& image);

  /// A gnuplot plot within `rect`, under everything above; `commands` ends with the plot command.
  void plot(const Rect& rect, std::string_view commands);
  /// Keeps rows of numbers for a plot and returns the name it can use; what is not finite is NaN.
  std::string data(const std::vector<std::vector<double>>& columns);

  /// The figure as PNG and SVG bytes, in the order of `formats` ("png", "svg").
  std::vector<std::string> render(const std::string& title,
                                  const std::vector<std::string>& formats) const;

 private:
  double up(double y) const { return height_ - y; }

  double width_, height_;
  std::string plots_, things_, images_;
  NamedBytes files_;
};

}  // namespace vitrine::plot
