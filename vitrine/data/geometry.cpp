#include "vitrine/data/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

double radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }

/// Rounded to 15 decimals, as Pillow does with the sines of a rotation.
double to_15_decimals(double x) { return std::strtod(fmt::format("{:.15f}", x).c_str(), nullptr); }

bool inside(const Image& image, int64_t x, int64_t y) {
  return x >= 0 && x < image.width && y >= 0 && y < image.height;
}

/// Pillow's nearest neighbour walks in 16.16 fixed point.
Image affine_nearest(const Image& image, const std::array<double, 6>& m) {
  const auto fixed = [](double v) { return static_cast<int64_t>(std::floor(v * 65536.0 + 0.5)); };
  const auto dx = fixed(m[0]), dy = fixed(m[3]), row_dx = fixed(m[1]), row_dy = fixed(m[4]);
  auto row_x = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  auto row_y = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  Image out(image.width, image.height, image.channels);
  uint8_t* to = out.pixels.data();
  for (int64_t y = 0; y < out.height; ++y, row_x += row_dx, row_y += row_dy) {
    auto from_x = row_x, from_y = row_y;
    for (int64_t x = 0; x < out.width; ++x, from_x += dx, from_y += dy, to += out.channels)
      if (inside(image, from_x >> 16, from_y >> 16)) {
        const uint8_t* from = image.at(from_x >> 16, from_y >> 16);
        for (int64_t c = 0; c < out.channels; ++c) to[c] = from[c];
      }
  }
  return out;
}

Image affine_bilinear(const Image& image, const std::array<double, 6>& m) {
  Image out(image.width, image.height, image.channels);
  const auto column = [&](int64_t x) { return std::clamp<int64_t>(x, 0, image.width - 1); };
  const auto row = [&](int64_t y) { return std::clamp<int64_t>(y, 0, image.height - 1); };
  const auto between = [](double a, double b, double share) { return a + (b - a) * share; };
  for (int64_t y = 0; y < out.height; ++y)
    for (int64_t x = 0; x < out.width; ++x) {
      const double px = static_cast<double>(x) + 0.5, py = static_cast<double>(y) + 0.5;
      const double from_x = m[0] * px + m[1] * py + m[2], from_y = m[3] * px + m[4] * py + m[5];
      if (from_x < 0 || from_x >= static_cast<double>(image.width) || from_y < 0 ||
          from_y >= static_cast<double>(image.height))
        continue;
      const auto left = static_cast<int64_t>(std::floor(from_x - 0.5));
      const auto top = static_cast<int64_t>(std::floor(from_y - 0.5));
      const double dx = from_x - 0.5 - static_cast<double>(left);
      const double dy = from_y - 0.5 - static_cast<double>(top);
      for (int64_t c = 0; c < image.channels; ++c) {
        const auto in_row = [&](int64_t at) {
          return between(image.at(column(left), row(at))[c], image.at(column(left + 1), row(at))[c],
                         dx);
        };
        out.at(x, y)[c] = static_cast<uint8_t>(between(in_row(top), in_row(top + 1), dy));
      }
    }
  return out;
}

}  // namespace

Image crop(const Image& image, int64_t left, int64_t top, int64_t width, int64_t height) {
  Image out(width, height, image.channels);
  const auto first = std::clamp<int64_t>(-left, 0, width);
  const auto last = std::clamp<int64_t>(image.width - left, first, width);
  for (int64_t y = 0; y < height; ++y)
    if (y + top >= 0 && y + top < image.height && last > first)
      std::copy_n(image.at(first + left, y + top), (last - first) * image.channels,
                  out.at(first, y));
  return out;
}

Rectangle centre_window(int64_t width, int64_t height, int64_t size) {
  const auto start = [&](int64_t length) {
    if (length < size) return -((size - length) / 2);
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(length - size) / 2.0));
  };
  return {.left = start(width), .top = start(height), .width = size, .height = size};
}

Image centre_crop(const Image& image, int64_t size) {
  const auto [left, top, width, height] = centre_window(image.width, image.height, size);
  return crop(image, left, top, width, height);
}

Image resized_crop(const Image& image, const Rectangle& box, int64_t size,
                   Interpolation interpolation) {
  return resize(crop(image, box.left, box.top, box.width, box.height), size, size, interpolation);
}

Image flip_horizontally(const Image& image) {
  Image out(image.width, image.height, image.channels);
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x)
      std::copy_n(image.at(x, y), image.channels, out.at(image.width - 1 - x, y));
  return out;
}

Image affine(const Image& image, const std::array<double, 6>& m, Interpolation interpolation) {
  check(interpolation != Interpolation::Bicubic, "affine: offers nearest and bilinear only");
  return interpolation == Interpolation::Nearest ? affine_nearest(image, m)
                                                 : affine_bilinear(image, m);
}

Image rotate(const Image& image, double degrees, Interpolation interpolation) {
  const double turned = degrees - 360 * std::floor(degrees / 360);
  if (turned == 0) return image;
  const double angle = -radians(turned);
  const double cosine = to_15_decimals(std::cos(angle)), sine = to_15_decimals(std::sin(angle));
  const double x = static_cast<double>(image.width) / 2, y = static_cast<double>(image.height) / 2;
  return affine(
      image,
      {cosine, sine, cosine * -x + sine * -y + x, -sine, cosine, -sine * -x + cosine * -y + y},
      interpolation);
}

Image shear_x(const Image& image, double amount) {
  return affine(image, {1, std::tan(std::atan(amount)), 0, 0, 1, 0}, Interpolation::Nearest);
}

Image shear_y(const Image& image, double amount) {
  return affine(image, {1, 0, 0, std::tan(std::atan(amount)), 1, 0}, Interpolation::Nearest);
}

Image translate(const Image& image, int64_t right, int64_t down) {
  return crop(image, -right, -down, image.width, image.height);
}

}  // namespace vitrine
