#pragma once

#include <memory>

#include "vitrine/data/config.h"
#include "vitrine/data/dataset.h"

namespace vitrine {

/// The images of a data set as a recipe splits them.
struct Parts {
  std::shared_ptr<const Dataset> train, validation, test;

  const std::shared_ptr<const Dataset>& get(Part part) const {
    return part == Part::Train ? train : part == Part::Validation ? validation : test;
  }
};

/// Where the data set has no validation (test) part of its own, a share of the training images
/// chosen by `seed` is kept back for it: the same share of every class, unless the data set says
/// otherwise (`stratified`). A note on stderr names classes too small for that. With
/// `validation: 0` the test images serve for validation.
Parts open_parts(const DataConfig& config, uint64_t seed);

/// One of the parts; reads no more files than it must.
std::shared_ptr<const Dataset> open_part(const DataConfig& config, uint64_t seed, Part part);

}  // namespace vitrine
