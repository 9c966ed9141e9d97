#pragma once

#include "vitrine/core/random.h"
#include "vitrine/data/config.h"
#include "vitrine/data/normalize.h"

namespace vitrine {

/// From an image as stored to the floats a model is fed.
class Pipeline {
 public:
  Pipeline(const Preprocess& preprocess, const AugmentConfig& augment);

  int64_t image() const { return preprocess_.image; }
  int64_t channels() const { return preprocess_.channels; }
  int64_t floats() const { return channels() * image() * image(); }

  /// How many pixels the short side of an image needs for `augment` not to enlarge any part of it.
  int64_t enough_to_augment() const;

  /// Writes (C, image, image) floats, as evaluation sees the image. Changes `image`.
  void evaluate(Image& image, float* out) const;
  /// The same with the random changes of training.
  void augment(Image& image, Random& random, float* out) const;

 private:
  void fit(Image& image) const;
  void crop_some(Image& image, Random& random) const;
  void jitter_color(Image& image, Random& random) const;
  void erase_some(Random& random, float* out) const;

  Preprocess preprocess_;
  AugmentConfig augment_;
  Normalizer normalize_;
};

}  // namespace vitrine
