#pragma once

#include <cstdint>
#include <vector>

namespace vitrine {

/// An 8-bit image: rows from the top, interleaved channels (3 = RGB, 1 = grey).
struct Image {
  int64_t width = 0, height = 0, channels = 3;
  std::vector<uint8_t> pixels;

  Image() = default;
  Image(int64_t w, int64_t h, int64_t c = 3)
      : width(w), height(h), channels(c), pixels(w * h * c) {}

  uint8_t* at(int64_t x, int64_t y) { return pixels.data() + (y * width + x) * channels; }
  const uint8_t* at(int64_t x, int64_t y) const {
    return pixels.data() + (y * width + x) * channels;
  }
};

/// An image as a sequence of bytes: row by row, pixel by pixel, channel by channel.
struct ImageLayout {
  int64_t rows = 0, columns = 0, channels = 0;

  int64_t length() const { return rows * columns * channels; }
  bool operator==(const ImageLayout&) const = default;
};

}  // namespace vitrine
