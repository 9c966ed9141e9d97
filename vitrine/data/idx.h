#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vitrine/data/dataset.h"

namespace vitrine {

/// The values of an IDX file of bytes with this shape: 4 bytes of magic, each length as a
/// big-endian int32, then the values. `name` stands in errors.
std::string idx_values(const std::string& file, const std::vector<int64_t>& shape,
                       const std::string& name);

/// `count` grey images of `side` x `side` pixels out of an IDX file of images and one of labels.
std::unique_ptr<Dataset> idx_dataset(const std::string& images, const std::string& labels,
                                     int64_t count, int64_t side, std::vector<std::string> classes,
                                     const std::string& name);

}  // namespace vitrine
