#pragma once

#include <cstdint>

namespace vitrine {

/// How tokens lie on an image: `prefix` tokens without a position (a class token), then rows *
/// columns, row by row. A sequence is one row.
struct TokenGrid {
  int64_t rows = 0, columns = 0, prefix = 0;

  int64_t tokens() const { return prefix + rows * columns; }
  bool operator==(const TokenGrid&) const = default;
};

/// `length` tokens of a sequence.
inline TokenGrid sequence_grid(int64_t length) { return {.rows = 1, .columns = length}; }

}  // namespace vitrine
