#pragma once

#include <string>

#include "vitrine/data/dataset.h"

namespace vitrine {

inline constexpr int64_t kCifar10Side = 32;

/// Adds the records of a file of CIFAR-10 or CIFAR-100: label bytes, the last of which counts, then
/// the R, G and B planes.
void add_cifar_records(MemoryDataset& data, const std::string& bytes, int64_t label_bytes);

}  // namespace vitrine
