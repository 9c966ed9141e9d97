#include "vitrine/plot/colors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace vitrine::plot {
namespace {

constexpr Color rgb(uint32_t hex) {
  return {static_cast<uint8_t>(hex >> 16), static_cast<uint8_t>(hex >> 8),
          static_cast<uint8_t>(hex)};
}

constexpr Color kMissing = rgb(0xD9D9D9);

constexpr std::array<Color, kSeriesColors> kOkabeIto = {rgb(0x0072B2), rgb(0xD55E00), rgb(0x009E73),
                                                        rgb(0xE69F00), rgb(0xCC79A7), rgb(0x56B4E9),
                                                        rgb(0x000000), rgb(0xF0E442)};

constexpr std::array kViridis = {rgb(0x440154), rgb(0x482878), rgb(0x3E4989), rgb(0x31688E),
                                 rgb(0x26828E), rgb(0x1F9E89), rgb(0x35B779), rgb(0x6ECE58),
                                 rgb(0xB5DE2B), rgb(0xFDE725)};
constexpr std::array kBlues = {rgb(0xF7FBFF), rgb(0xDEEBF7), rgb(0xC6DBEF),
                               rgb(0x9ECAE1), rgb(0x6BAED6), rgb(0x4292C6),
                               rgb(0x2171B5), rgb(0x08519C), rgb(0x08306B)};
constexpr std::array kInferno = {rgb(0x000004), rgb(0x1B0C41), rgb(0x4A0C6B), rgb(0x781C6D),
                                 rgb(0xA52C60), rgb(0xCF4446), rgb(0xED6925), rgb(0xFB9B06),
                                 rgb(0xF7D13D), rgb(0xFCFFA4)};
constexpr std::array kBlueRed = {rgb(0x053061), rgb(0x2166AC), rgb(0x4393C3), rgb(0x92C5DE),
                                 rgb(0xD1E5F0), rgb(0xF7F7F7), rgb(0xFDDBC7), rgb(0xF4A582),
                                 rgb(0xD6604D), rgb(0xB2182B), rgb(0x67001F)};
constexpr std::array kGrey = {rgb(0x000000), rgb(0xFFFFFF)};

std::span<const Color> stops(ColorMap map) {
  switch (map) {
    case ColorMap::Viridis:
      return kViridis;
    case ColorMap::Blues:
      return kBlues;
    case ColorMap::Inferno:
      return kInferno;
    case ColorMap::BlueRed:
      return kBlueRed;
    case ColorMap::Grey:
      return kGrey;
  }
  return kViridis;
}

uint8_t blend(uint8_t from, uint8_t to, double share) {
  return static_cast<uint8_t>(std::lround(from + (to - from) * share));
}

Color blend(Color from, Color to, double share) {
  return {blend(from.red, to.red, share), blend(from.green, to.green, share),
          blend(from.blue, to.blue, share)};
}

void set(Image& image, int64_t x, int64_t y, Color color) {
  uint8_t* pixel = image.at(x, y);
  pixel[0] = color.red;
  pixel[1] = color.green;
  pixel[2] = color.blue;
}

Color get(const Image& image, int64_t x, int64_t y) {
  const uint8_t* pixel = image.at(x, y);
  if (image.channels == 1) return {pixel[0], pixel[0], pixel[0]};
  return {pixel[0], pixel[1], pixel[2]};
}

/// The value at a point of the unit square, blended between the centres of the cells around it.
double smooth_value(const Matrix& values, double x, double y) {
  const double column = std::clamp(x * values.columns - 0.5, 0.0, values.columns - 1.0);
  const double row = std::clamp(y * values.rows - 0.5, 0.0, values.rows - 1.0);
  const auto left = static_cast<int64_t>(column), top = static_cast<int64_t>(row);
  const auto right = std::min(left + 1, values.columns - 1);
  const auto bottom = std::min(top + 1, values.rows - 1);
  const double upper = std::lerp(values.at(top, left), values.at(top, right), column - left);
  const double lower = std::lerp(values.at(bottom, left), values.at(bottom, right), column - left);
  return std::lerp(upper, lower, row - top);
}

double nearest_value(const Matrix& values, double x, double y) {
  return values.at(static_cast<int64_t>(y * values.rows), static_cast<int64_t>(x * values.columns));
}

}  // namespace

std::string Color::hex() const { return fmt::format("#{:02X}{:02X}{:02X}", red, green, blue); }

bool Color::light() const { return 0.299 * red + 0.587 * green + 0.114 * blue > 140; }

Color series_color(int64_t index) { return kOkabeIto[index % kSeriesColors]; }

Color color_at(ColorMap map, double position) {
  if (std::isnan(position)) return kMissing;
  const auto colors = stops(map);
  const double place = std::clamp(position, 0.0, 1.0) * static_cast<double>(colors.size() - 1);
  const auto below = std::min(static_cast<size_t>(place), colors.size() - 2);
  return blend(colors[below], colors[below + 1], place - static_cast<double>(below));
}

ColorRange color_range(const std::vector<const Matrix*>& matrices, ColorMap map,
                       std::optional<double> low, std::optional<double> high) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const Matrix* matrix : matrices)
    for (const double value : matrix->values) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  if (least > most) least = 0, most = 1;
  if (map == ColorMap::BlueRed) {
    most = std::max(std::abs(least), std::abs(most));
    least = -most;
  }
  ColorRange range{low.value_or(least), high.value_or(most)};
  if (range.high <= range.low) range.high = range.low + (range.low == 0 ? 1 : std::abs(range.low));
  return range;
}

Image colorize(const Matrix& values, ColorMap map, const ColorRange& range) {
  Image image(values.columns, values.rows);
  for (int64_t y = 0; y < values.rows; ++y)
    for (int64_t x = 0; x < values.columns; ++x)
      set(image, x, y, color_at(map, range.position(values.at(y, x))));
  return image;
}

Image overlay(const Image& image, const Matrix& values, ColorMap map, const ColorRange& range,
              const Blend& how) {
  Image result(image.width, image.height);
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x) {
      const double across = (x + 0.5) / image.width, down = (y + 0.5) / image.height;
      const double value = (how.smooth ? smooth_value : nearest_value)(values, across, down);
      const double position = std::clamp(range.position(value), 0.0, 1.0);
      const double strength = how.fade && !std::isnan(position) ? std::abs(2 * position - 1) : 1;
      set(result, x, y, blend(get(image, x, y), color_at(map, position), how.alpha * strength));
    }
  return result;
}

Image resize_nearest(const Image& image, int64_t width, int64_t height) {
  Image result(width, height);
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      set(result, x, y, get(image, x * image.width / width, y * image.height / height));
  return result;
}

}  // namespace vitrine::plot
