#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "vitrine/core/error.h"

namespace vitrine {

/// Throws unless `value` lies in [0, 1): a probability of dropping, a decay, a fraction.
inline void check_fraction(std::string_view who, std::string_view name, double value) {
  check(value >= 0 && value < 1, "{}: {} {} is not in [0, 1)", who, name, value);
}

/// Throws unless every list, given with its name, holds a positive number for each stage of a
/// network: as many as the first.
inline void check_stages(
    std::string_view who,
    std::initializer_list<std::pair<std::string_view, std::vector<int64_t>>> lists) {
  const auto& [first, stages] = *lists.begin();
  for (const auto& [name, values] : lists) {
    check(!values.empty() && values.size() == stages.size(),
          "{}: {} has {} numbers and {} has {}; give one for each stage", who, name, values.size(),
          first, stages.size());
    for (const auto value : values)
      check(value > 0, "{}: {} of {} must be positive", who, name, value);
  }
}

}  // namespace vitrine
