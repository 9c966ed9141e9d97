#pragma once

// Matrices as the products of layers that learn read them, in words of 32 bits: one number in fp32,
// or two that are rounded to bf16. Sums are always in fp32.

#include <torch/types.h>

#include <functional>

#include "vitrine/core/precision.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/ops/panel_loop.h"

namespace vitrine {

/// A matrix (M, K).
struct Factor {
  torch::Tensor rows{};  // (M, words of a row): for products that sum over the columns
  /// (groups, words of a column, columns of a group): for products that sum over the rows. Columns
  /// beyond the last are 0.
  torch::Tensor groups{};
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

/// Makes a factor (M, K) of its tiles, which may come in any order and from any threads.
class FactorWriter {
 public:
  FactorWriter(int64_t M, int64_t K, Precision precision, const FactorParts& parts);
  void write(const Tile& tile);
  Factor finish() const;

 private:
  int64_t M_, K_, group_, per_word_;
  Factor factor_;
  torch::Tensor block_sums_;  // (blocks of kRowsPerTask rows, K)
};

/// The panels of a weight (N, K): of products that sum over its columns, x W^T, and over its rows,
/// dy W.
torch::Tensor packed_rows(const torch::Tensor& weight, Precision precision);
torch::Tensor packed_columns(const torch::Tensor& weight, Precision precision);

/// The factor that makes the rows of a product.
struct RowFactor {
  torch::Tensor words;  // `rows` of a factor, or its `groups` of kRowsPerTask columns
  int64_t n;
  bool grouped = false;
};

/// Products with panels (panels, words, columns) of N outputs.
struct TrainingProduct {
  Precision precision;
  torch::Tensor panels;
  int64_t N;
  torch::Tensor bias{};  // (N); may be undefined

  /// (rows, N) in fp32.
  torch::Tensor of(const RowFactor& rows) const;
  /// The same, which is not kept: `take(tile)` gets every part of it.
  void tiles_of(const RowFactor& rows, const std::function<void(const Tile&)>& take) const;
};

/// Throws unless rows x (..., K) and a weight (N, K) are in fp32 on the CPU and fit.
void check_factors(const torch::Tensor& x, const torch::Tensor& weight);

}  // namespace vitrine
