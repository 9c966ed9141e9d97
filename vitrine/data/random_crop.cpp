#include "vitrine/data/random_crop.h"

#include <cmath>

namespace vitrine {
namespace {

constexpr int kTries = 10;
constexpr double kNarrowest = 3.0 / 4.0, kWidest = 4.0 / 3.0;  // width / height

int64_t to_whole(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

Rectangle middle(int64_t W, int64_t H, int64_t width, int64_t height) {
  return {.left = (W - width) / 2, .top = (H - height) / 2, .width = width, .height = height};
}

}  // namespace

double shortest_crop_side(double smallest_area) { return std::sqrt(smallest_area * kNarrowest); }

Rectangle random_crop_box(int64_t W, int64_t H, double smallest_area, Random& random) {
  const auto area = static_cast<double>(W) * static_cast<double>(H);
  for (int i = 0; i < kTries; ++i) {
    const double wanted = area * random.uniform(smallest_area, 1);
    const double ratio = std::exp(random.uniform(std::log(kNarrowest), std::log(kWidest)));
    const auto width = to_whole(std::sqrt(wanted * ratio));
    const auto height = to_whole(std::sqrt(wanted / ratio));
    if (width < 1 || width > W || height < 1 || height > H) continue;
    const auto top = random.below(H - height + 1);
    return {.left = random.below(W - width + 1), .top = top, .width = width, .height = height};
  }
  const double ratio = static_cast<double>(W) / static_cast<double>(H);
  if (ratio < kNarrowest) return middle(W, H, W, to_whole(static_cast<double>(W) / kNarrowest));
  if (ratio > kWidest) return middle(W, H, to_whole(static_cast<double>(H) * kWidest), H);
  return middle(W, H, W, H);
}

}  // namespace vitrine
