#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace vitrine {

/// Tensor operations refuse more.
inline constexpr size_t kMaxDimensions = 64;

/// The bytes of a tensor whose elements have `element_bytes`; nothing if they do not fit 63 bits,
/// even behind a dimension of 0.
inline std::optional<uint64_t> byte_count(const std::vector<int64_t>& shape,
                                          uint64_t element_bytes) {
  uint64_t count = element_bytes;
  bool empty = false;
  for (const int64_t size : shape) {
    empty = empty || size == 0;
    const auto factor = static_cast<uint64_t>(std::max<int64_t>(size, 1));
    if (count > std::numeric_limits<int64_t>::max() / factor) return std::nullopt;
    count *= factor;
  }
  return empty ? 0 : count;
}

}  // namespace vitrine
