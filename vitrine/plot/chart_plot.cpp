#include "vitrine/plot/chart_plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vitrine/plot/legend.h"

namespace vitrine::plot {
namespace {

constexpr int kTraceSteps = 24;
constexpr double kSeeThrough = 0.55, kBandOpacity = 0.22;

std::string paint(Color color, double opacity) {
  const auto transparency = static_cast<int>(std::lround(255 * (1 - opacity)));
  return fmt::format("rgb '#{:02X}{}'", transparency, color.hex().substr(1));
}

std::string tick_list(const Ticks& ticks) {
  std::vector<std::string> parts;
  for (const double at : ticks.at) parts.push_back(fmt::format("'' {:.10g}", at));
  for (const double at : ticks.minor) parts.push_back(fmt::format("'' {:.10g} 1", at));
  return fmt::format("({}) scale 0 nomirror", fmt::join(parts, ", "));
}

std::string axis_commands(const std::string& axis, const Ticks& ticks) {
  auto text = fmt::format("set {}range [{:.10g}:{:.10g}]\n", axis, ticks.low, ticks.high);
  if (ticks.log) text += fmt::format("set logscale {}\n", axis);
  if (ticks.at.empty()) return text + fmt::format("unset {}tics\n", axis);
  return text + fmt::format("set {}tics {}\n", axis, tick_list(ticks));
}

std::string frame_commands(const ChartAxes& axes) {
  const bool two = !axes.right.at.empty();
  auto text = fmt::format("set border {} lc rgb '{}' lw 1\n", two ? 11 : 3, kFaint.hex());
  text += axis_commands("x", axes.x) + axis_commands("y", axes.y);
  if (two) text += axis_commands("y2", axes.right);
  const auto line = fmt::format("lt 1 lc rgb '{}' lw 1", kGridInk.hex());
  const auto faint = "lt 1 lc rgb '#F3F3F3' lw 1";
  text += fmt::format("set grid {} ytics {} {} back {}, {}\n", axes.named ? "noxtics" : "xtics",
                      axes.x.minor.empty() ? "" : "mxtics", axes.y.minor.empty() ? "" : "mytics",
                      line, faint);
  return text;
}

/// The stretches of a band without gaps.
std::vector<std::vector<std::vector<double>>> band_pieces(const Shape& shape) {
  std::vector<std::vector<std::vector<double>>> pieces;
  bool open = false;
  for (size_t i = 0; i < shape.low.size(); ++i) {
    const bool shown =
        std::isfinite(shape.x[i]) && std::isfinite(shape.low[i]) && std::isfinite(shape.high[i]);
    if (shown && !open) pieces.push_back({{}, {}, {}});
    open = shown;
    if (!shown) continue;
    pieces.back()[0].push_back(shape.x[i]);
    pieces.back()[1].push_back(shape.low[i]);
    pieces.back()[2].push_back(shape.high[i]);
  }
  return pieces;
}

class Elements {
 public:
  Elements(Canvas& canvas) : canvas_(canvas) {}

  void add(const Shape& shape) {
    axes_ = shape.right ? " axes x1y2" : "";
    switch (shape.mark) {
      case Mark::Line:
        line(shape);
        break;
      case Mark::Points:
        points(shape);
        break;
      case Mark::Bars:
      case Mark::Histogram:
        bars(shape);
        break;
      case Mark::Box:
        box(shape);
        break;
    }
  }

  std::string command() const { return fmt::format("plot {}", fmt::join(elements_, ", ")); }

 private:
  void element(const std::vector<std::vector<double>>& columns, const std::string& using_columns,
               const std::string& style) {
    elements_.push_back(fmt::format("{} using {}{} with {} title ' '", canvas_.data(columns),
                                    using_columns, axes_, style));
  }

  void line(const Shape& s) {
    for (const auto& piece : band_pieces(s))
      element(piece, "1:2:3",
              fmt::format("filledcurves fc {} fs solid noborder", paint(s.color, kBandOpacity)));
    element({s.x, s.y}, "1:2",
            fmt::format("lines lc rgb '{}' lw 2 dt {}", s.color.hex(), dashes(s.stroke)));
    auto dots = s.y;
    if (!s.markers)  // a value between two gaps has no line to show it
      for (size_t i = 0; i < dots.size(); ++i)
        if ((i > 0 && std::isfinite(s.y[i - 1])) ||
            (i + 1 < dots.size() && std::isfinite(s.y[i + 1])))
          dots[i] = std::nan("");
    if (std::any_of(dots.begin(), dots.end(), [](double y) { return std::isfinite(y); }))
      markers(s, dots);
  }

  void markers(const Shape& s, const std::vector<double>& y) {
    element({s.x, y}, "1:2",
            fmt::format("points pt {} ps {} lw {} lc rgb '{}'", s.marker, s.marker_size,
                        s.rings ? 2 : 1, s.color.hex()));
  }

  void points(const Shape& s) {
    if (!s.low.empty()) error_bars(s, s.color);
    markers(s, s.y);
  }

  void bars(const Shape& s) {
    const std::vector<double> widths(s.x.size(), s.width);
    element({s.x, s.y, widths}, "1:2:3",
            fmt::format("boxes fc {} fs solid border lc rgb '#FFFFFF' lw 0.5",
                        paint(s.color, s.see_through ? kSeeThrough : 1)));
    if (!s.low.empty()) error_bars(s, kInk);
  }

  void error_bars(const Shape& s, Color color) {
    std::vector<double> across(s.x.size(), 0), up;
    for (size_t i = 0; i < s.x.size(); ++i) up.push_back(s.high[i] - s.low[i]);
    element({s.x, s.low, across, up}, "1:2:3:4",
            fmt::format("vectors heads size graph 0.008,90 lw 1.2 lc rgb '{}'", color.hex()));
  }

  void box(const Shape& s) {
    if (std::isnan(s.median)) return;
    element({{s.x[0]}, {s.first_quartile}, {s.least}, {s.most}, {s.third_quartile}, {s.width}},
            "1:2:3:4:5:6",
            fmt::format("candlesticks whiskerbars 0.5 fc {} fs solid border lc rgb '{}' lw 1.2",
                        paint(s.color, kSeeThrough), kInk.hex()));
    element({{s.x[0] - s.width / 2}, {s.median}, {s.width}, {0}}, "1:2:3:4",
            fmt::format("vectors nohead lw 2.2 lc rgb '{}'", kInk.hex()));
    if (s.outliers.empty()) return;
    const std::vector<double> places(s.outliers.size(), s.x[0]);
    element({places, s.outliers}, "1:2",
            fmt::format("points pt 6 ps 0.6 lc rgb '{}'", kFaint.hex()));
  }

  Canvas& canvas_;
  std::string axes_;
  std::vector<std::string> elements_;
};

}  // namespace

std::vector<Place> shape_traces(const std::vector<Shape>& shapes, const ChartAxes& axes) {
  std::vector<Place> places;
  for (const auto& shape : shapes) {
    const Ticks& vertical = shape.right ? axes.right : axes.y;
    const bool line = shape.mark == Mark::Line;
    const bool bar = shape.mark == Mark::Bars || shape.mark == Mark::Histogram;
    const auto place = [&](size_t i, double y) {
      return Place{axes.x.position(shape.x[i]), vertical.position(y)};
    };
    const auto join = [&](Place from, Place to) {
      for (int step = 0; step <= kTraceSteps; ++step) {
        const double share = step / static_cast<double>(kTraceSteps);
        places.push_back({std::lerp(from.x, to.x, share), std::lerp(from.y, to.y, share)});
      }
    };
    for (size_t i = 0; i < shape.x.size() && shape.mark != Mark::Box; ++i) {
      const auto here = place(i, shape.y[i]);
      places.push_back(here);
      if (line && i > 0) join(place(i - 1, shape.y[i - 1]), here);
      if (bar) {
        const double half = shape.width / 2 / (axes.x.high - axes.x.low);
        join({here.x - half, here.y}, {here.x + half, here.y});
        join({here.x - half, 0}, {here.x - half, here.y});
        join({here.x + half, 0}, {here.x + half, here.y});
      }
      if (!shape.low.empty()) join(place(i, shape.low[i]), place(i, shape.high[i]));
    }
  }
  return places;
}

void draw_shapes(Canvas& canvas, const Rect& inner, const std::vector<Shape>& shapes,
                 const ChartAxes& axes) {
  Elements elements(canvas);
  for (const auto& shape : shapes) elements.add(shape);
  canvas.plot(inner, frame_commands(axes) + elements.command());
}

}  // namespace vitrine::plot
