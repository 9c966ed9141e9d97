#include "vitrine/data/resize.h"

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/data/geometry.h"

// Pillow's resampling: for each output position the weights of a filter stretched by the scale,
// rounded to 22 fractional bits; a horizontal pass, then a vertical one, each rounded to bytes.

namespace vitrine {
namespace {

constexpr int kFractionBits = 32 - 8 - 2;

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/// The input positions first .. first + weights.size() - 1 make one output position.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

/// The taps of output positions begin .. end - 1 where `in` positions become `out`.
std::vector<Taps> make_taps(int64_t in, int64_t out, int64_t begin, int64_t end,
                            Interpolation interpolation) {
  const bool bilinear = interpolation == Interpolation::Bilinear;
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.0);
  const double support = (bilinear ? 1.0 : 2.0) * stretch;
  std::vector<Taps> all(end - begin);
  std::vector<double> weights;
  for (int64_t o = begin; o < end; ++o) {
    auto& taps = all[o - begin];
    const double centre = (static_cast<double>(o) + 0.5) * scale;
    const auto first = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(centre + support + 0.5), in);
    double sum = 0;
    weights.clear();
    for (int64_t i = first; i < last; ++i) {
      const double at = (static_cast<double>(i) - centre + 0.5) * (1.0 / stretch);
      weights.push_back(bilinear ? triangle(at) : cubic(at));
      sum += weights.back();
    }
    taps.first = first;
    for (const double w : weights) {
      const double share = (sum != 0 ? w / sum : w) * (1 << kFractionBits);
      taps.weights.push_back(static_cast<int32_t>(share < 0 ? share - 0.5 : share + 0.5));
    }
  }
  return all;
}

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr int32_t kHalf = 1 << (kFractionBits - 1);

/// The rows of `in` from `top` on.
template <int Channels>
void resize_rows(const Image& in, int64_t top, Image& out, const std::vector<Taps>& taps) {
  for (int64_t y = 0; y < out.height; ++y) {
    uint8_t* to = out.at(0, y);
    for (const auto& tap : taps) {
      int32_t sum[Channels];
      std::fill_n(sum, Channels, kHalf);
      const uint8_t* from = in.at(tap.first, top + y);
      for (const int32_t weight : tap.weights)
        for (int c = 0; c < Channels; ++c) sum[c] += *from++ * weight;
      for (int c = 0; c < Channels; ++c) *to++ = rounded(sum[c]);
    }
  }
}

/// Row 0 of `in` is row `top` of the taps.
void resize_columns(const Image& in, int64_t top, Image& out, const std::vector<Taps>& taps) {
  const int64_t stride = in.width * in.channels;
  std::vector<int32_t> sums(stride);
  for (int64_t y = 0; y < out.height; ++y) {
    std::fill(sums.begin(), sums.end(), kHalf);
    const uint8_t* from = in.at(0, taps[y].first - top);
    for (const int32_t weight : taps[y].weights) {
      for (int64_t i = 0; i < stride; ++i) sums[i] += from[i] * weight;
      from += stride;
    }
    uint8_t* to = out.at(0, y);
    for (int64_t i = 0; i < stride; ++i) to[i] = rounded(sums[i]);
  }
}

Image resize_nearest(const Image& image, int64_t width, int64_t height, const Rectangle& window) {
  Image out(window.width, window.height, image.channels);
  const double dx = static_cast<double>(image.width) / static_cast<double>(width);
  const double dy = static_cast<double>(image.height) / static_cast<double>(height);
  // Pillow adds up the steps, and so do their rounding errors: the way starts at 0.
  double from_y = dy * 0.5, left = dx * 0.5;
  for (int64_t y = 0; y < window.top; ++y) from_y += dy;
  for (int64_t x = 0; x < window.left; ++x) left += dx;
  for (int64_t y = 0; y < window.height; ++y, from_y += dy) {
    double from_x = left;
    for (int64_t x = 0; x < window.width; ++x, from_x += dx) {
      const auto sx = std::min(static_cast<int64_t>(from_x), image.width - 1);
      const auto sy = std::min(static_cast<int64_t>(from_y), image.height - 1);
      std::copy_n(image.at(sx, sy), image.channels, out.at(x, y));
    }
  }
  return out;
}

/// A window of the image resized to `width` x `height`; what lies outside is never computed.
Image resize_window(const Image& image, int64_t width, int64_t height, const Rectangle& window,
                    Interpolation interpolation) {
  check(width > 0 && height > 0, "resize: {} x {} is not a size", width, height);
  const auto [left, top, w, h] = window;
  if (width == image.width && height == image.height) return crop(image, left, top, w, h);
  if (interpolation == Interpolation::Nearest) return resize_nearest(image, width, height, window);
  const bool same_height = height == image.height;
  const auto down = make_taps(image.height, height, top, top + h, interpolation);
  const auto first = same_height ? top : down.front().first;
  const auto last = same_height ? top + h : down.back().first + std::ssize(down.back().weights);
  Image wide(w, last - first, image.channels);
  if (width == image.width) {
    wide = crop(image, left, first, w, last - first);
  } else {
    const auto across = make_taps(image.width, width, left, left + w, interpolation);
    image.channels == 3 ? resize_rows<3>(image, first, wide, across)
                        : resize_rows<1>(image, first, wide, across);
  }
  if (same_height) return wide;
  Image out(w, h, image.channels);
  resize_columns(wide, first, out, down);
  return out;
}

struct Size {
  int64_t width = 0, height = 0;
};

/// The size with short side `size` and the image's proportions.
Size short_side_size(const Image& image, int64_t size) {
  const auto longer = [&](int64_t long_side, int64_t short_side) {
    return static_cast<int64_t>(static_cast<double>(size * long_side) /
                                static_cast<double>(short_side));
  };
  if (image.width <= image.height) return {size, longer(image.height, image.width)};
  return {longer(image.width, image.height), size};
}

}  // namespace

Image resize(const Image& image, int64_t width, int64_t height, Interpolation interpolation) {
  return resize_window(image, width, height, {.width = width, .height = height}, interpolation);
}

Image resize_short_side(const Image& image, int64_t size, Interpolation interpolation) {
  const auto [width, height] = short_side_size(image, size);
  return resize(image, width, height, interpolation);
}

Image thumbnail(Image image) {
  constexpr int64_t kLargestShown = 192;
  if (std::min(image.width, image.height) <= kLargestShown) return image;
  return resize_short_side(image, kLargestShown, Interpolation::Bilinear);
}

Image resized_centre(const Image& image, int64_t short_side, int64_t size,
                     Interpolation interpolation) {
  check(size >= 1 && size <= short_side, "resize: the centre of {} cannot be {}", short_side, size);
  const auto [width, height] = short_side_size(image, short_side);
  const auto window = centre_window(width, height, size);
  return resize_window(image, width, height, window, interpolation);
}

}  // namespace vitrine
