#pragma once

#include <algorithm>
#include <cstdint>

#include "vitrine/kernels/attention.h"
#include "vitrine/ops/training/factors.h"

namespace vitrine {

/// The sizes of a transformer block that learns, and how its rows are dealt out: in chunks of whole
/// sequences, so many that what a chunk computes stays in a cache.
struct BlockLayout {
  int64_t B = 0, T = 0, C = 0, H = 0, F = 0;
  Precision precision = Precision::Float32;

  int64_t M() const { return B * T; }
  int64_t D() const { return C / H; }

  int64_t sequences() const {  // of a chunk; all have about as many
    constexpr int64_t kRows = 192;
    const auto most = std::clamp<int64_t>(kRows / T, 1, B), fewest_chunks = (B + most - 1) / most;
    return (B + fewest_chunks - 1) / fewest_chunks;
  }
  int64_t chunks() const { return (B + sequences() - 1) / sequences(); }
  int64_t rows() const { return sequences() * T; }  // of a chunk, but perhaps of the last
  int64_t first_row(int64_t chunk) const { return chunk * rows(); }
  int64_t rows_of(int64_t chunk) const { return std::min(rows(), M() - first_row(chunk)); }
  int64_t blocks() const { return (rows() + kRowsPerTask - 1) / kRowsPerTask; }

  /// Of columns that sum over all rows: each chunk begins with a word of its own.
  int64_t first_word(int64_t chunk) const {
    const auto per_word = numbers_per_word(precision), each = kernels::words_of(rows(), per_word);
    if (chunk < chunks()) return chunk * each;
    return (chunk - 1) * each + kernels::words_of(rows_of(chunk - 1), per_word);
  }
  int64_t height() const { return first_word(chunks()); }

  kernels::HeadShape head() const { return {T, T, D(), D()}; }
};

}  // namespace vitrine
