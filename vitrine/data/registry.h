#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vitrine/core/registry.h"
#include "vitrine/data/config.h"
#include "vitrine/data/dataset.h"

namespace vitrine {

struct Splits;

/// What is known of a data set before its files are read.
struct DatasetTraits {
  int64_t image = 0;  // side of a picture; 0 = they differ
  int64_t channels = 3;
  std::vector<double> mean, std;
};

/// A data set that recipes and commands can name.
struct DatasetEntry {
  std::string summary;
  std::function<DatasetTraits(const DataConfig&)> traits;
  /// The part, or nothing if the data set does not come with such a part. Missing and damaged files
  /// throw and say what to fetch.
  /// Null for data sets that do not consist of pictures.
  std::function<std::unique_ptr<Dataset>(const DataConfig&, Part)> open;
  /// Brings the files to the data root, from `source` (a path) or, if that is empty, from the
  /// network. Returns what was done, in a sentence.
  std::function<std::string(const DataConfig&, const std::string& source)> fetch;
  /// The three parts of a data set that does not consist of pictures, split by the seed.
  std::function<Splits(const DataConfig&, uint64_t seed)> batches = nullptr;
};

/// Data that the program itself makes or holds, and that do not consist of pictures.
DatasetEntry built_in_entry(std::string summary,
                            std::function<Splits(const DataConfig&, uint64_t seed)> batches);

/// Every data set. Adding one ends with one line in registry.cpp.
const Registry<DatasetEntry>& datasets();

}  // namespace vitrine
