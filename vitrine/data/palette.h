#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vitrine/core/image.h"

namespace vitrine {

/// Colours that stand for all others: a pixel's token is the number of the nearest one.
class Palette {
 public:
  static constexpr int64_t kMost = 65536;

  /// Red, green and blue of each colour, from -1 to 1, one colour after the other.
  explicit Palette(std::vector<float> colors);

  int64_t size() const { return static_cast<int64_t>(colors_.size() / 3); }
  const std::vector<float>& colors() const { return colors_; }
  /// The colour of the least squared distance to these values from -1 to 1; of equals the first.
  int64_t nearest(float red, float green, float blue) const;
  /// The nearest colour of each pixel of an RGB image, row by row.
  std::vector<int64_t> tokens(const Image& image) const;
  /// The bytes of a colour.
  std::array<uint8_t, 3> pixel(int64_t token) const;

 private:
  void list_candidates(int64_t cell);

  std::vector<float> colors_;
  // The cube of all values is cut into cells; of each, the colours that are the nearest to some
  // point of it lie in candidates_ from first_[cell] to first_[cell + 1].
  std::vector<int32_t> first_{}, candidates_{};
};

/// `count` colours by k-means (Lloyd) over pixels, three values from -1 to 1 each. The same pixels
/// give the same colours; throws if they have fewer colours than that.
Palette fit_palette(const std::vector<float>& pixels, int64_t count);

}  // namespace vitrine
