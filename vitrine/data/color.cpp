#include "vitrine/data/color.h"

#include <algorithm>
#include <array>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

/// from + factor * (to - from) in float, cut to bytes.
uint8_t blend(int from, int to, float factor) {
  const float value = static_cast<float>(from) + factor * static_cast<float>(to - from);
  if (value <= 0) return 0;
  return value >= 255 ? 255 : static_cast<uint8_t>(value);
}

/// Blends each value with the one that `other` gives for (pixel, channel).
template <typename Other>
Image blend_with(const Image& image, double factor, Other&& other) {
  Image out = image;
  const auto count = image.width * image.height, C = image.channels;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* pixel = image.pixels.data() + i * C;
    for (int64_t c = 0; c < C; ++c)
      out.pixels[i * C + c] = blend(other(pixel, c), pixel[c], static_cast<float>(factor));
  }
  return out;
}

/// Blends each value with one and the same.
Image blend_with_constant(const Image& image, double factor, int other) {
  std::array<uint8_t, 256> table;
  for (int v = 0; v < 256; ++v) table[v] = blend(other, v, static_cast<float>(factor));
  Image out = image;
  for (auto& value : out.pixels) value = table[value];
  return out;
}

/// Pillow's SMOOTH: the centre counts 5, its eight neighbours 1; the border stays.
Image smooth(const Image& image) {
  Image out = image;
  constexpr float kSide = 1.0f / 13.0f, kCentre = 5.0f / 13.0f;
  const auto C = image.channels;
  const auto row = [&](const uint8_t* p, float middle) {
    return static_cast<float>(p[-C]) * kSide + static_cast<float>(p[0]) * middle +
           static_cast<float>(p[C]) * kSide;
  };
  for (int64_t y = 1; y < image.height - 1; ++y)
    for (int64_t x = 1; x < image.width - 1; ++x)
      for (int64_t c = 0; c < C; ++c) {
        float sum = 0.5f;
        sum += row(image.at(x, y + 1) + c, kSide);
        sum += row(image.at(x, y) + c, kCentre);
        sum += row(image.at(x, y - 1) + c, kSide);
        out.at(x, y)[c] = static_cast<uint8_t>(std::clamp(sum, 0.0f, 255.0f));
      }
  return out;
}

struct Hsv {
  uint8_t h, s, v;
};

Hsv to_hsv(const uint8_t* rgb) {
  const uint8_t r = rgb[0], g = rgb[1], b = rgb[2];
  const uint8_t most = std::max({r, g, b}), least = std::min({r, g, b});
  if (most == least) return {0, 0, most};
  const float range = static_cast<float>(most - least);
  const float rc = static_cast<float>(most - r) / range;
  const float gc = static_cast<float>(most - g) / range;
  const float bc = static_cast<float>(most - b) / range;
  float h;
  if (r == most)
    h = bc - gc;
  else if (g == most)
    h = static_cast<float>(2.0 + rc - bc);
  else
    h = static_cast<float>(4.0 + gc - rc);
  const double turn = h / 6.0 + 1.0;  // between 5/6 and 2
  h = static_cast<float>(turn >= 1.0 ? turn - 1.0 : turn);
  const float s = range / static_cast<float>(most);
  return {static_cast<uint8_t>(static_cast<int>(h * 255.0)),
          static_cast<uint8_t>(static_cast<int>(s * 255.0)), most};
}

void to_rgb(Hsv in, uint8_t* rgb) {
  const auto [h, s, v] = in;
  const double sixths = static_cast<float>(h) * 6.0 / 255.0;
  const int sector = static_cast<int>(sixths);
  const auto f = static_cast<float>(sixths - static_cast<float>(sector));
  const auto share = static_cast<float>(static_cast<float>(s) / 255.0);
  const auto scaled = [v = v](double by) {
    return static_cast<uint8_t>(static_cast<float>(v) * by + 0.5);
  };
  const uint8_t p = scaled(1.0 - share);
  const uint8_t q = scaled(1.0 - share * f);
  const uint8_t t = scaled(1.0 - share * (1.0 - f));
  const uint8_t values[4] = {v, p, q, t};
  constexpr int kV = 0, kP = 1, kQ = 2, kT = 3;
  constexpr int kSectors[6][3] = {{kV, kT, kP}, {kQ, kV, kP}, {kP, kV, kT},
                                  {kP, kQ, kV}, {kT, kP, kV}, {kV, kP, kQ}};
  for (int c = 0; c < 3; ++c) rgb[c] = values[kSectors[sector % 6][c]];
}

using Histogram = std::array<int64_t, 256>;
using Table = std::array<uint8_t, 256>;

/// Replaces each value by its entry in a table made from the channel's histogram.
template <typename MakeTable>
Image through_tables(const Image& image, MakeTable&& make_table) {
  Image out = image;
  const auto C = static_cast<size_t>(image.channels);
  for (size_t c = 0; c < C; ++c) {
    Histogram histogram = {};
    for (size_t i = c; i < image.pixels.size(); i += C) ++histogram[image.pixels[i]];
    const Table table = make_table(histogram);
    for (size_t i = c; i < image.pixels.size(); i += C) out.pixels[i] = table[image.pixels[i]];
  }
  return out;
}

Table identity() {
  Table table;
  for (int i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(i);
  return table;
}

}  // namespace

Image adjust_brightness(const Image& image, double factor) {
  return blend_with_constant(image, factor, 0);
}

Image adjust_contrast(const Image& image, double factor) {
  int64_t sum = 0;
  const auto count = image.width * image.height;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* pixel = image.pixels.data() + i * image.channels;
    sum += image.channels == 3 ? luma(pixel) : *pixel;
  }
  const int mean = static_cast<int>(static_cast<double>(sum) / static_cast<double>(count) + 0.5);
  return blend_with_constant(image, factor, mean);
}

Image adjust_saturation(const Image& image, double factor) {
  if (image.channels == 1) return image;
  return blend_with(image, factor, [](const uint8_t* pixel, int64_t) { return luma(pixel); });
}

Image adjust_sharpness(const Image& image, double factor) {
  const Image soft = smooth(image);
  return blend_with(image, factor, [&](const uint8_t* pixel, int64_t c) {
    return soft.pixels[pixel + c - image.pixels.data()];
  });
}

Image adjust_hue(const Image& image, double turn) {
  check(turn >= -0.5 && turn <= 0.5, "hue: {} is not between -0.5 and 0.5", turn);
  if (image.channels == 1) return image;
  Image out = image;
  const auto shift = static_cast<int>(turn * 255);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    auto hsv = to_hsv(image.pixels.data() + i);
    if (hsv.s == 0) {
      std::fill_n(out.pixels.data() + i, 3, hsv.v);
      continue;
    }
    hsv.h = static_cast<uint8_t>(hsv.h + shift);
    to_rgb(hsv, out.pixels.data() + i);
  }
  return out;
}

Image posterize(const Image& image, int64_t bits) {
  Image out = image;
  const int mask = ~((1 << (8 - bits)) - 1);
  for (auto& value : out.pixels) value = static_cast<uint8_t>(value & mask);
  return out;
}

Image solarize(const Image& image, double threshold) {
  Image out = image;
  for (auto& value : out.pixels)
    if (value >= threshold) value = static_cast<uint8_t>(255 - value);
  return out;
}

Image autocontrast(const Image& image) {
  return through_tables(image, [](const Histogram& histogram) {
    int low = 0, high = 255;
    while (low < 255 && histogram[low] == 0) ++low;
    while (high > 0 && histogram[high] == 0) --high;
    auto table = identity();
    if (high <= low) return table;
    const double scale = 255.0 / (high - low), offset = -low * scale;
    for (int i = 0; i < 256; ++i)
      table[i] = static_cast<uint8_t>(std::clamp(static_cast<int>(i * scale + offset), 0, 255));
    return table;
  });
}

Image equalize(const Image& image) {
  return through_tables(image, [&](const Histogram& histogram) {
    auto table = identity();
    int last = 255;
    while (histogram[last] == 0) --last;
    const auto step = (image.width * image.height - histogram[last]) / 255;
    if (step == 0) return table;
    auto sum = step / 2;
    for (int i = 0; i < 256; ++i) {
      table[i] = static_cast<uint8_t>(std::min<int64_t>(sum / step, 255));
      sum += histogram[i];
    }
    return table;
  });
}

Image with_channels(const Image& image, int64_t channels) {
  if (image.channels == channels) return image;
  Image out(image.width, image.height, channels);
  for (int64_t i = 0; i < image.width * image.height; ++i) {
    const uint8_t* from = image.pixels.data() + i * image.channels;
    if (channels == 1)
      out.pixels[i] = luma(from);
    else
      std::fill_n(out.pixels.begin() + 3 * i, 3, *from);
  }
  return out;
}

}  // namespace vitrine
