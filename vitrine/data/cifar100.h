#pragma once

#include "vitrine/core/files.h"
#include "vitrine/data/registry.h"

namespace vitrine {

/// CIFAR-100 with its 100 fine labels under ROOT/cifar100: the official binary files train.bin and
/// test.bin, kept in memory.
DatasetEntry cifar100_dataset();

/// Brings the two files to `folder`: from `source` (an archive or a folder) or by download. The
/// archive that is downloaded is verified by its md5 sum; of other files the sizes and the number
/// of images per class are. Returns what was done.
std::string fetch_cifar100(const fs::path& folder, const std::string& source);

}  // namespace vitrine
