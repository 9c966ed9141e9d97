#pragma once

#include "vitrine/core/random.h"
#include "vitrine/data/config.h"
#include "vitrine/data/normalise.h"

namespace vitrine {

/// From a picture as stored to the floats a model is fed.
class Pipeline {
 public:
  Pipeline(const Preprocess& preprocess, const AugmentConfig& augment);

  int64_t image() const { return preprocess_.image; }
  int64_t channels() const { return preprocess_.channels; }
  int64_t floats() const { return channels() * image() * image(); }

  /// Writes (C, image, image) floats, as evaluation sees the picture. Changes `picture`.
  void evaluate(Image& picture, float* out) const;
  /// The same with the random changes of training.
  void augment(Image& picture, Random& random, float* out) const;

 private:
  void fit(Image& picture) const;
  void crop_some(Image& picture, Random& random) const;
  void recolour(Image& picture, Random& random) const;
  void erase_some(Random& random, float* out) const;

  Preprocess preprocess_;
  AugmentConfig augment_;
  Normaliser normalise_;
};

}  // namespace vitrine
