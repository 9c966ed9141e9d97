#include "vitrine/data/pipeline.h"

#include <algorithm>
#include <cmath>

#include "vitrine/data/rand_augment.h"
#include "vitrine/data/random_crop.h"

namespace vitrine {
namespace {

/// A jitter factor between 1 - amount and 1 + amount, never negative.
double factor(double amount, Random& random) {
  return random.uniform(std::max(0.0, 1 - amount), 1 + amount);
}

}  // namespace

Pipeline::Pipeline(const Preprocess& preprocess, const AugmentConfig& augment)
    : preprocess_(preprocess),
      augment_(augment),
      normalise_((preprocess.validate(), preprocess.mean), preprocess.std) {
  augment_.validate();
}

void Pipeline::fit(Image& picture) const {
  const auto& p = preprocess_;
  if (picture.channels != p.channels) picture = with_channels(picture, p.channels);
  if (picture.width != p.image || picture.height != p.image || p.resize != p.image)
    picture = resized_centre(picture, p.resize, p.image, p.interpolation);
}

void Pipeline::crop_some(Image& picture, Random& random) const {
  const auto& p = preprocess_;
  if (picture.channels != p.channels) picture = with_channels(picture, p.channels);
  const auto box =
      random_crop_box(picture.width, picture.height, augment_.random_resized_crop, random);
  picture = resized_crop(picture, box, p.image, p.interpolation);
}

void Pipeline::evaluate(Image& picture, float* out) const {
  fit(picture);
  normalise_(picture, {.size = preprocess_.image}, out);
}

void Pipeline::augment(Image& picture, Random& random, float* out) const {
  const auto& a = augment_;
  const auto size = preprocess_.image, padding = a.crop_padding;
  if (a.random_resized_crop > 0)
    crop_some(picture, random);
  else
    fit(picture);
  Window window{.size = size};
  if (padding > 0) {
    window.left = random.below(2 * padding + 1) - padding;
    window.top = random.below(2 * padding + 1) - padding;
  }
  window.flipped = random.chance(a.flip);
  const bool jitters = a.brightness > 0 || a.contrast > 0 || a.saturation > 0 || a.hue > 0;
  if (a.rotation > 0 || jitters || a.randaugment_ops > 0) {
    if (window.left != 0 || window.top != 0)
      picture = crop(picture, window.left, window.top, size, size);
    if (window.flipped) picture = flip_horizontally(picture);
    window = {.size = size};
    if (a.rotation > 0)
      picture = rotate(picture, random.uniform(-a.rotation, a.rotation), Interpolation::Nearest);
    if (jitters) recolour(picture, random);
    if (a.randaugment_ops > 0)
      picture =
          rand_augment(std::move(picture), a.randaugment_ops, a.randaugment_magnitude, random);
  }
  normalise_(picture, window, out);
  if (a.erasing > 0) erase_some(random, out);
}

void Pipeline::recolour(Image& picture, Random& random) const {
  const auto& a = augment_;
  for (const auto step : permutation(4, Random{random.next()})) {
    if (step == 0 && a.brightness > 0)
      picture = adjust_brightness(picture, factor(a.brightness, random));
    if (step == 1 && a.contrast > 0) picture = adjust_contrast(picture, factor(a.contrast, random));
    if (step == 2 && a.saturation > 0)
      picture = adjust_saturation(picture, factor(a.saturation, random));
    if (step == 3 && a.hue > 0) picture = adjust_hue(picture, random.uniform(-a.hue, a.hue));
  }
}

void Pipeline::erase_some(Random& random, float* out) const {
  if (!random.chance(augment_.erasing)) return;
  // torchvision's RandomErasing: area and proportions at random, until the rectangle fits.
  constexpr int kTries = 10;
  constexpr double kLeastArea = 0.02, kMostArea = 0.33, kLeastRatio = 0.3, kMostRatio = 3.3;
  const auto side = preprocess_.image;
  const auto area = static_cast<double>(side * side);
  for (int i = 0; i < kTries; ++i) {
    const double erased = area * random.uniform(kLeastArea, kMostArea);
    const double ratio = std::exp(random.uniform(std::log(kLeastRatio), std::log(kMostRatio)));
    const auto height = static_cast<int64_t>(std::nearbyint(std::sqrt(erased * ratio)));
    const auto width = static_cast<int64_t>(std::nearbyint(std::sqrt(erased / ratio)));
    if (height >= side || width >= side) continue;
    const auto top = random.below(side - height + 1), left = random.below(side - width + 1);
    return erase(out, channels(), side, side, {left, top, width, height});
  }
}

}  // namespace vitrine
