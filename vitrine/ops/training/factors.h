#pragma once

// Matrices as the products of layers that learn read them, in words of 32 bits: one number in fp32,
// or two that are rounded to bf16. Sums are always in fp32.

#include <torch/types.h>

#include "vitrine/core/precision.h"
#include "vitrine/ops/panel_loop.h"

namespace vitrine {

/// How many numbers of this precision a word holds.
int64_t numbers_per_word(Precision precision);

/// Numbers in fp32 are words as they are.
inline const int32_t* as_words(const float* x) { return reinterpret_cast<const int32_t*>(x); }

/// Rows of words that begin `stride` words apart.
struct WordRows {
  const int32_t* words;
  int64_t stride, rows;
};

/// Rows of K numbers, side by side, as words: in place in fp32, else in `buffer`, (rows, words of
/// K).
WordRows to_words(const float* x, int64_t rows, int64_t K, Precision precision, int32_t* buffer);

/// The columns of a matrix (M, K), some of them side by side and each as words along the rows: for
/// products that sum over the rows. Columns beyond the last are 0.
struct ColumnGroups {
  int64_t K, group, per_word;
  int64_t height;  // the words of a column
  int32_t* words;  // (groups, height, group)

  /// Writes the columns [column, column + columns) of `count` rows in fp32, which begin `stride`
  /// numbers apart and whose words begin at `word`.
  void write(const float* rows, int64_t stride, int64_t count, int64_t word, int64_t column,
             int64_t columns) const;
};

/// Memory for columns of `height` words, in groups of `group`.
torch::Tensor empty_groups(int64_t height, int64_t K, int64_t group);
ColumnGroups column_groups(const torch::Tensor& groups, int64_t K, Precision precision);

/// The columns of a panel on the processors that have most.
inline constexpr int64_t kMostColumns = 64;

/// A part of a matrix in fp32 while it is in the cache: `rows` rows and `columns` columns from
/// (row, column) on. Both begin at multiples of what a task and a panel have. Row behind row lies
/// in `values`, `stride` numbers each; those beyond `columns` are 0.
struct Tile {
  float* values;
  int64_t stride;
  int64_t row, rows, column, columns;

  /// Of all rows, zeros too.
  int64_t numbers() const { return rows * stride; }
};

/// Where the tiles of a matrix, or of some of its rows, go as a factor.
struct FactorTarget {
  Precision precision;
  int32_t* rows = nullptr;  // (rows, words of a row); null: not wanted
  int64_t row_words = 0;
  const ColumnGroups* groups = nullptr;  // null: not wanted
  int64_t first_word = 0;                // of the first row, in a column
  float* block_sums = nullptr;           // (blocks of kRowsPerTask rows, K); null: not wanted
  int64_t K = 0;

  void write(const Tile& tile) const;
};

/// A matrix (M, K).
struct Factor {
  torch::Tensor rows{};         // (M, words of a row): for products that sum over the columns
  torch::Tensor groups{};       // of columns
  torch::Tensor column_sums{};  // (K), of the numbers in fp32
};

/// What of a factor is wanted.
struct FactorParts {
  bool rows = true;
  int64_t group = 0;  // columns of a group; 0: no groups
  bool column_sums = false;
};

/// Of a matrix (..., K), in one pass over its numbers. Sums do not depend on the number of threads.
Factor to_factor(const torch::Tensor& x, Precision precision, const FactorParts& parts);

/// Makes a factor (M, K) of its tiles, which may come in any order and from any threads.
class FactorWriter {
 public:
  FactorWriter(int64_t M, int64_t K, Precision precision, const FactorParts& parts);
  void write(const Tile& tile) const { target_.write(tile); }
  Factor finish() const;

 private:
  Factor factor_;
  ColumnGroups groups_{};
  torch::Tensor block_sums_;  // (blocks of kRowsPerTask rows, K)
  FactorTarget target_;
};

/// The panels of a weight (N, K): of products that sum over its columns, x W^T, and over its rows,
/// dy W.
torch::Tensor packed_rows(const torch::Tensor& weight, Precision precision);
torch::Tensor packed_columns(const torch::Tensor& weight, Precision precision);

/// Throws unless rows x (..., K) and a weight (N, K) are in fp32 on the CPU and fit.
void check_factors(const torch::Tensor& x, const torch::Tensor& weight);

}  // namespace vitrine
