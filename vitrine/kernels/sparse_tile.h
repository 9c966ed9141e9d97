#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "vitrine/kernels/attention_plan.h"
#include "vitrine/kernels/small_product.h"
#include "vitrine/kernels/sparse_attention.h"

// How the kernels of sparse attention walk over the tiles of a plan: in fp32, double and bf16.
namespace vitrine::kernels {

/// Vectors at equally spaced indices are a matrix in place.
template <typename T>
Vectors<T> matrix_at(Vectors<T> all, const StridedIndices& indices) {
  return {all.values + indices.start * all.stride, all.stride * indices.step};
}

/// Where the tile's gradients are added up: in place, or in `buffer`, cleared.
template <typename T>
Vectors<T> gradient_matrix(Vectors<T> all, int64_t width, const StridedIndices& indices,
                           std::vector<T>& buffer) {
  if (indices.run == 1) return matrix_at(all, indices);
  std::fill_n(buffer.data(), indices.count * width, T(0));
  return {buffer.data(), width};
}

/// Adds the gradients in `buffer` to those of their tokens; nothing to do if they are in place.
template <typename T>
void scatter(const std::vector<T>& buffer, Vectors<T> all, int64_t width,
             const StridedIndices& indices) {
  if (indices.run == 1) return;
  for (int64_t k = 0; k < indices.count; ++k) {
    T* to = all.values + indices[k] * all.stride;
    for (int64_t c = 0; c < width; ++c) to[c] += buffer[k * width + c];
  }
}

inline int64_t low_of(const KeyTile& tile, int64_t row) {
  return tile.dense ? 0 : tile.key_begin[row];
}
inline int64_t high_of(const KeyTile& tile, int64_t row) {
  return tile.dense ? tile.keys.count : tile.key_end[row];
}

/// A run of queries (or keys) and what they see (or who sees them) taken together.
struct Strip {
  int64_t first, count;
  int64_t low, high;
};

/// The group's queries, some at a time, each with the keys of the tile that any of them sees.
template <typename Work>
void for_queries(const QueryGroup& group, const KeyTile& tile, const Work& work) {
  const auto rows = group.queries.count;
  for (int64_t first = 0; first < rows; first += kProductRows) {
    Strip strip{first, std::min(kProductRows, rows - first), tile.keys.count, 0};
    for (int64_t r = first; r < first + strip.count; ++r) {
      if (low_of(tile, r) >= high_of(tile, r)) continue;
      strip.low = std::min(strip.low, low_of(tile, r));
      strip.high = std::max(strip.high, high_of(tile, r));
    }
    if (strip.low < strip.high) work(strip);
  }
}

/// The tile's keys, some at a time, each with the queries of the group that see any of them.
template <typename Work>
void for_keys(const QueryGroup& group, const KeyTile& tile, const Work& work) {
  const auto rows = group.queries.count, n = tile.keys.count;
  for (int64_t first = 0; first < n; first += kProductRows) {
    Strip strip{first, std::min(kProductRows, n - first), 0, rows};
    const auto sees = [&](int64_t r) {
      return low_of(tile, r) < first + strip.count && high_of(tile, r) > first;
    };
    while (strip.low < rows && !sees(strip.low)) ++strip.low;
    while (strip.high > strip.low && !sees(strip.high - 1)) --strip.high;
    if (strip.low < strip.high) work(strip);
  }
}

}  // namespace vitrine::kernels
