#pragma once

#include <string_view>

#include "vitrine/core/error.h"

namespace vitrine {

/// Throws unless `value` lies in [0, 1): a probability of dropping, a decay, a fraction.
inline void check_fraction(std::string_view who, std::string_view name, double value) {
  check(value >= 0 && value < 1, "{}: {} {} is not in [0, 1)", who, name, value);
}

}  // namespace vitrine
