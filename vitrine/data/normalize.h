#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vitrine/core/image.h"
#include "vitrine/data/geometry.h"

namespace vitrine {

/// A square of an image; what lies outside the image counts as 0.
struct Window {
  int64_t left = 0, top = 0, size = 0;
  bool flipped = false;  // left and right exchanged
};

/// Bytes to (value / 255 - mean) / std, and interleaved pixels to channel planes, in one pass.
class Normalizer {
 public:
  Normalizer(const std::vector<double>& mean, const std::vector<double>& std);

  int64_t channels() const { return static_cast<int64_t>(tables_.size()); }
  /// Writes the window as (C, size, size) floats.
  void operator()(const Image& image, const Window& window, float* out) const;

 private:
  std::vector<std::array<float, 256>> tables_;  // per channel: byte -> float
};

/// Sets the rectangle of a (C, H, W) image to 0 (random erasing).
void erase_normalized(float* image, int64_t C, int64_t H, int64_t W, const Rectangle& r);

}  // namespace vitrine
