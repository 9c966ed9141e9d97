#include "vitrine/data/palette.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/core/random.h"

namespace vitrine {
namespace {

using Rgb = std::array<float, 3>;

constexpr uint64_t kPaletteSeed = 0x70616c65747465;
constexpr int64_t kCells = 16;  // along each side of the cube
constexpr int kMaxIterations = 50;

int64_t cell_along(float value) {
  return std::clamp<int64_t>(static_cast<int64_t>((value + 1) / 2 * kCells), 0, kCells - 1);
}

float squared_distance(const float* a, const float* b) {
  float sum = 0;
  for (int i = 0; i < 3; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// `count` different pixels, each chosen with a probability in proportion to its squared distance
/// from those before it (k-means++).
std::vector<float> first_colors(const std::vector<float>& pixels, int64_t count) {
  const auto n = std::ssize(pixels) / 3;
  Random random{kPaletteSeed};
  std::vector<double> distances(static_cast<size_t>(n), 1);
  std::vector<float> colors;
  for (int64_t color = 0; color < count; ++color) {
    const double total = std::accumulate(distances.begin(), distances.end(), 0.0);
    check(
        total > 0,
        "palette: the pixels that were looked at have only {} colours; set data.palette.colors={}",
        color, color);
    double rest = random.uniform() * total;
    int64_t chosen = 0;
    for (int64_t i = 0; i < n && rest >= 0; ++i) {
      if (distances[i] == 0) continue;
      chosen = i;
      rest -= distances[i];
    }
    const auto* pixel = pixels.data() + 3 * chosen;
    colors.insert(colors.end(), pixel, pixel + 3);
    for (int64_t i = 0; i < n; ++i)
      distances[i] = std::min<double>(distances[i], squared_distance(pixels.data() + 3 * i, pixel));
  }
  return colors;
}

}  // namespace

Palette::Palette(std::vector<float> colors) : colors_(std::move(colors)) {
  check(!colors_.empty() && colors_.size() % 3 == 0 && size() <= kMost,
        "palette: {} values are not red, green and blue of 1 to {} colours", colors_.size(), kMost);
  for (const float value : colors_)
    check(value >= -1 && value <= 1, "palette: {} is not between -1 and 1", value);
  first_.push_back(0);
  for (int64_t cell = 0; cell < kCells * kCells * kCells; ++cell) {
    list_candidates(cell);
    first_.push_back(static_cast<int32_t>(candidates_.size()));
  }
}

/// A colour whose least distance to the cell exceeds another's greatest is never the nearest.
void Palette::list_candidates(int64_t cell) {
  constexpr float kSide = 2.0F / kCells, kRounding = 1e-5F;
  const std::array<int64_t, 3> along = {cell / (kCells * kCells), cell / kCells % kCells,
                                        cell % kCells};
  std::vector<float> least(static_cast<size_t>(size()));
  float limit = std::numeric_limits<float>::infinity();
  for (int64_t color = 0; color < size(); ++color) {
    float greatest = 0;
    for (int i = 0; i < 3; ++i) {
      const float low = -1 + kSide * static_cast<float>(along[i]);
      const float below = low - colors_[3 * color + i], above = -below - kSide;  // outside: > 0
      const float near = std::max({below, above, 0.0F}), far = kSide + std::max(below, above);
      least[color] += near * near;
      greatest += far * far;
    }
    limit = std::min(limit, greatest);
  }
  for (int64_t color = 0; color < size(); ++color)
    if (least[color] <= limit + kRounding) candidates_.push_back(static_cast<int32_t>(color));
}

int64_t Palette::nearest(float red, float green, float blue) const {
  const Rgb pixel = {red, green, blue};
  const auto cell = (cell_along(red) * kCells + cell_along(green)) * kCells + cell_along(blue);
  int64_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (auto i = first_[cell]; i < first_[cell + 1]; ++i) {
    const float distance =
        squared_distance(pixel.data(), colors_.data() + 3 * int64_t{candidates_[i]});
    if (distance >= least) continue;
    least = distance;
    best = candidates_[i];
  }
  return best;
}

std::vector<int64_t> Palette::tokens(const Image& image) const {
  check(image.channels == 3, "palette: an image of {} is not one of three",
        counted(image.channels, "channel"));
  const auto scaled = [](uint8_t byte) { return static_cast<float>(byte) / 127.5F - 1; };
  std::vector<int64_t> tokens;
  tokens.reserve(image.pixels.size() / 3);
  for (auto p = image.pixels.begin(); p != image.pixels.end(); p += 3)
    tokens.push_back(nearest(scaled(p[0]), scaled(p[1]), scaled(p[2])));
  return tokens;
}

std::array<uint8_t, 3> Palette::pixel(int64_t token) const {
  check(token >= 0 && token < size(), "palette: there is no colour {} among {}", token, size());
  std::array<uint8_t, 3> bytes{};
  for (int i = 0; i < 3; ++i)
    bytes[i] = static_cast<uint8_t>(std::lround(127.5F * (colors_[3 * token + i] + 1)));
  return bytes;
}

Palette fit_palette(const std::vector<float>& pixels, int64_t count) {
  Palette palette(first_colors(pixels, count));
  std::vector<int64_t> nearest(pixels.size() / 3, -1);
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    std::vector<double> sums(static_cast<size_t>(3 * count));
    std::vector<int64_t> counts(static_cast<size_t>(count));
    bool moved = false;
    for (size_t i = 0; i < nearest.size(); ++i) {
      const auto* p = pixels.data() + 3 * i;
      const auto color = palette.nearest(p[0], p[1], p[2]);
      moved |= color != nearest[i];
      nearest[i] = color;
      for (int c = 0; c < 3; ++c) sums[3 * color + c] += p[c];
      ++counts[color];
    }
    if (!moved) break;
    auto colors = palette.colors();  // a colour that is nobody's stays where it is
    for (int64_t color = 0; color < count; ++color)
      for (int c = 0; c < 3 && counts[color] > 0; ++c)
        colors[3 * color + c] =
            static_cast<float>(sums[3 * color + c] / static_cast<double>(counts[color]));
    palette = Palette(std::move(colors));
  }
  return palette;
}

}  // namespace vitrine
