#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/image.h"

namespace vitrine::plot {

/// Numbers in rows and columns, row by row from the top.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values{};

  double at(int64_t row, int64_t column) const { return values[row * columns + column]; }
};

struct Color {
  uint8_t red = 0, green = 0, blue = 0;

  /// "#rrggbb".
  std::string hex() const;
  /// Whether black text reads better on it than white text.
  bool light() const;
};

/// The colour of the `index`-th series: the palette of Okabe and Ito, safe for the colour-blind.
Color series_color(int64_t index);
inline constexpr int64_t kSeriesColors = 8;

/// How a number becomes a colour. `BlueRed` diverges from a white zero; the others rise.
enum class ColorMap { Viridis, Blues, Inferno, BlueRed, Grey };

/// The colour at `position` in 0 .. 1; NaN is a light grey.
Color color_at(ColorMap map, double position);

/// The span of numbers that a colour map covers.
struct ColorRange {
  double low = 0, high = 1;

  double position(double value) const { return (value - low) / (high - low); }
};

/// The span given, completed by the finite values; a diverging map gets a symmetric one.
ColorRange color_range(const std::vector<const Matrix*>& matrices, ColorMap map,
                       std::optional<double> low, std::optional<double> high);

/// One pixel per value.
Image colorize(const Matrix& values, ColorMap map, const ColorRange& range);

/// How values lie over an image.
struct Blend {
  double alpha = 0.55;  // 0 shows the image, 1 the values
  bool fade = false;    // `alpha` at the ends of the range, falling to 0 in its middle
  bool smooth = true;   // blends between the values; otherwise each covers its own rectangle
};

/// `values` in colours laid over the whole image.
Image overlay(const Image& image, const Matrix& values, ColorMap map, const ColorRange& range,
              const Blend& how);

/// The nearest pixel everywhere, so that small images stay crisp.
Image resize_nearest(const Image& image, int64_t width, int64_t height);

}  // namespace vitrine::plot
