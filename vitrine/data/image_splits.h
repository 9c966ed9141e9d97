#pragma once

#include <memory>

#include "vitrine/data/config.h"
#include "vitrine/data/dataset.h"

namespace vitrine {

/// The images of a data set as a recipe splits them.
struct ImageSplits {
  std::shared_ptr<const Dataset> train, validation, test;

  const std::shared_ptr<const Dataset>& get(Split split) const {
    return split == Split::Train ? train : split == Split::Validation ? validation : test;
  }
};

/// Where the data set has no validation (test) set of its own, a fraction of the training images
/// chosen by `seed` is held out for it: the same fraction of every class, unless the data set says
/// otherwise (`stratified`). A note on stderr names classes too small for that. With
/// `validation: 0` the test images serve for validation.
ImageSplits open_image_splits(const DataConfig& config, uint64_t seed);

/// One of the splits; reads no more files than it must.
std::shared_ptr<const Dataset> open_image_split(const DataConfig& config, uint64_t seed,
                                                Split split);

}  // namespace vitrine
