#pragma once

#include <algorithm>
#include <numeric>

#include "vitrine/data/batch.h"

namespace vitrine {

/// The first `count` examples, or all if there are fewer, without augmentation.
inline Batch first_examples(const BatchSource& source, int64_t count) {
  std::vector<int64_t> indices(std::min(count, source.size()));
  std::iota(indices.begin(), indices.end(), 0);
  return source.load(indices, /*epoch=*/-1);
}

inline Batch all_examples(const BatchSource& source) {
  return first_examples(source, source.size());
}

}  // namespace vitrine
