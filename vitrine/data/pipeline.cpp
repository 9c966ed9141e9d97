#include "vitrine/data/pipeline.h"

#include <algorithm>
#include <cmath>

#include "vitrine/data/color.h"
#include "vitrine/data/geometry.h"
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
      normalize_((preprocess.validate(), preprocess.mean), preprocess.std) {
  augment_.validate();
}

int64_t Pipeline::enough_to_augment() const {
  const auto& p = preprocess_;
  if (augment_.random_resized_crop == 0) return p.stretch ? p.image : p.resize;
  const double shortest = shortest_crop_side(augment_.random_resized_crop);
  return static_cast<int64_t>(std::ceil(static_cast<double>(p.image) / shortest));
}

void Pipeline::fit(Image& image) const {
  const auto& p = preprocess_;
  if (image.channels != p.channels) image = with_channels(image, p.channels);
  if (image.width == p.image && image.height == p.image && p.resize == p.image) return;
  if (p.stretch)
    image = resize(image, p.image, p.image, p.interpolation);
  else
    image = resized_centre(image, p.resize, p.image, p.interpolation);
}

void Pipeline::crop_some(Image& image, Random& random) const {
  const auto& p = preprocess_;
  if (image.channels != p.channels) image = with_channels(image, p.channels);
  const auto box = random_crop_box(image.width, image.height, augment_.random_resized_crop, random);
  image = resized_crop(image, box, p.image, p.interpolation);
}

void Pipeline::evaluate(Image& image, float* out) const {
  fit(image);
  normalize_(image, {.size = preprocess_.image}, out);
}

void Pipeline::augment(Image& image, Random& random, float* out) const {
  const auto& a = augment_;
  const auto size = preprocess_.image, padding = a.crop_padding;
  if (a.random_resized_crop > 0)
    crop_some(image, random);
  else
    fit(image);
  Window window{.size = size};
  if (padding > 0) {
    window.left = random.below(2 * padding + 1) - padding;
    window.top = random.below(2 * padding + 1) - padding;
  }
  window.flipped = random.chance(a.flip);
  const bool jitters = a.brightness > 0 || a.contrast > 0 || a.saturation > 0 || a.hue > 0;
  if (a.rotation > 0 || jitters || a.randaugment_ops > 0) {
    if (window.left != 0 || window.top != 0)
      image = crop(image, window.left, window.top, size, size);
    if (window.flipped) image = flip_horizontally(image);
    window = {.size = size};
    if (a.rotation > 0)
      image = rotate(image, random.uniform(-a.rotation, a.rotation), Interpolation::Nearest);
    if (jitters) jitter_color(image, random);
    if (a.randaugment_ops > 0)
      image = rand_augment(std::move(image), a.randaugment_ops, a.randaugment_magnitude, random);
  }
  normalize_(image, window, out);
  if (a.erasing > 0) erase_some(random, out);
}

void Pipeline::jitter_color(Image& image, Random& random) const {
  const auto& a = augment_;
  for (const auto step : permutation(4, Random{random.next()})) {
    if (step == 0 && a.brightness > 0)
      image = adjust_brightness(image, factor(a.brightness, random));
    if (step == 1 && a.contrast > 0) image = adjust_contrast(image, factor(a.contrast, random));
    if (step == 2 && a.saturation > 0)
      image = adjust_saturation(image, factor(a.saturation, random));
    if (step == 3 && a.hue > 0) image = adjust_hue(image, random.uniform(-a.hue, a.hue));
  }
}

void Pipeline::erase_some(Random& random, float* out) const {
  if (!random.chance(augment_.erasing)) return;
  // torchvision's RandomErasing: area and proportions at random, until the rectangle fits.
  constexpr int kTries = 10;
  constexpr double kMinArea = 0.02, kMaxArea = 0.33, kMinRatio = 0.3, kMaxRatio = 3.3;
  const auto side = preprocess_.image;
  const auto area = static_cast<double>(side * side);
  for (int i = 0; i < kTries; ++i) {
    const double erased = area * random.uniform(kMinArea, kMaxArea);
    const double ratio = std::exp(random.uniform(std::log(kMinRatio), std::log(kMaxRatio)));
    const auto height = static_cast<int64_t>(std::nearbyint(std::sqrt(erased * ratio)));
    const auto width = static_cast<int64_t>(std::nearbyint(std::sqrt(erased / ratio)));
    if (height >= side || width >= side) continue;
    const auto top = random.below(side - height + 1), left = random.below(side - width + 1);
    return erase_normalized(out, channels(), side, side, {left, top, width, height});
  }
}

}  // namespace vitrine
