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

/// How an image becomes a grid of tokens: before any attention, each sees `field` x `field` pixels,
/// and neighbours see squares that are `stride` pixels apart.
struct ImageTokens {
  int64_t rows = 0, columns = 0;
  int64_t field = 0, stride = 0;

  /// Otherwise they are patches, cut out side by side.
  bool overlap() const { return field > stride; }
};

/// How an answer reads the tokens of the last layer: one of them, their mean, or their mean by
/// weights that the network computes.
enum class Readout { Token, Mean, Weighted };

/// `length` tokens of a sequence.
inline TokenGrid sequence_grid(int64_t length) { return {.rows = 1, .columns = length}; }

}  // namespace vitrine
