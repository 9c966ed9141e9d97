#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"
#include "vitrine/plot/colors.h"

namespace vitrine::plot {

/// How a series is drawn. `Histogram` and `Box` take the raw samples as `y`.
enum class Mark { Line, Points, Bars, Histogram, Box };
enum class Stroke { Solid, Dashed, Dotted };

/// One set of numbers in a chart. Values that are not finite leave a gap.
struct Series {
  std::string name{};       // in the legend; "" keeps it out
  std::vector<double> x{};  // empty: 0, 1, 2, ...
  std::vector<double> y{};
  std::vector<double> error{};  // half the height of the band or of the error bar; may be empty
  Mark mark = Mark::Line;
  Stroke stroke = Stroke::Solid;
  bool markers = false;            // dots on a line
  bool rings = false;              // points as rings around those of other series
  bool right = false;              // measured on the right axis
  std::optional<int64_t> color{};  // in `series_color`; by default the series' place in the chart
};

struct Axis {
  std::string label{};  // with its unit
  bool log = false;
  std::optional<double> low{}, high{};  // by default what the data need
  std::vector<std::string> names{};     // for places 0, 1, 2, ... instead of numbers
};

/// Series over a pair of axes (or two pairs that share x).
struct Chart {
  std::string title{};
  Axis x{}, y{}, right{};
  std::vector<Series> series{};
  int64_t bins = 30;  // of histograms
  double width = 420, height = 260;
};

/// A matrix in colours.
struct HeatMap {
  std::string title{};
  Matrix values{};
  std::vector<std::string> row_names{}, column_names{};
  std::string x_label{}, y_label{};
  ColorMap colors = ColorMap::Viridis;
  std::optional<double> low{}, high{};   // by default what the data need
  bool annotate = false;                 // writes the number into each cell that has room
  int64_t decimals = 2;                  // of the numbers; whole ones have none
  std::vector<std::string> cell_text{};  // row by row, written instead of the numbers
  bool color_bar = true;
  std::string color_label{};
  double size = 0;  // the longer side in pixels; 0 suits the number of panels and of names
};

/// An image, with or without a heat map over it.
struct ImagePanel {
  std::string title{};
  Image image{};
  Matrix heat{};  // no rows: none
  ColorMap colors = ColorMap::Inferno;
  std::optional<double> low{}, high{};  // of the heat map
  double alpha = 0.55;
  bool fade = false;  // the heat map is transparent in the middle of its range, `alpha` at the ends
  bool smooth = true;
  double size = 0;  // the longer side in pixels; 0 suits the number of panels
};

using Panel = std::variant<Chart, HeatMap, ImagePanel>;

/// A colour and what it stands for.
struct Swatch {
  Color color{};
  std::string name{};
};

/// A labelled value of a colour bar.
struct ColorTick {
  double value = 0;
  std::string label{};
};

/// Panels in rows of `columns`, under one title.
struct Figure {
  std::string title{};
  int64_t columns = 0;  // 0: as wide as high
  std::vector<Panel> panels{};
  std::vector<std::string> row_names{}, column_names{};  // captions of the grid's rows and columns
  bool shared_colors = false;            // one range and one colour bar for all heat maps
  std::string color_label{};             // of the shared bar
  std::vector<ColorTick> color_ticks{};  // of the shared bar; none: round numbers
  std::vector<Swatch> legend{};          // under the panels
  std::string note{};                    // under the panels and the legend

  /// Writes `path`.png and `path`.svg, or only the one that the extension names. Each file appears
  /// complete or not at all.
  void save(const fs::path& path) const;
  /// The bytes of one format, "png" or "svg".
  std::string render(const std::string& format) const;
};

/// Throws unless `path` ends in .png or .svg; makes its folder. To be asked before long work.
void check_figure_file(const fs::path& path);

/// Images side by side, each under its title.
Figure image_grid(std::string title, const std::vector<Image>& images,
                  const std::vector<std::string>& titles, int64_t columns = 0);

}  // namespace vitrine::plot
