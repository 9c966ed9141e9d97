#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vitrine {

/// The middle value (of an even number, the upper of the two); there must be one.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace vitrine
