#pragma once

// Matrices and products in bf16 for the layers that learn: factors are rounded, sums are in fp32.

#include <torch/types.h>

#include <functional>

#include "vitrine/kernels/packed_product.h"
#include "vitrine/ops/panel_loop.h"

namespace vitrine {

/// A matrix (M, K) as products read it, in words of two bf16 numbers.
struct Bf16Matrix {
  torch::Tensor rows{};  // (M, words of a row): for products that sum over the columns
  /// (groups, pairs of rows, columns of a group): for products that sum over the rows. Columns
  /// beyond the last are 0.
  torch::Tensor groups{};
  torch::Tensor column_sums{};  // (K), of the numbers in fp32
};

/// What of a matrix is wanted.
struct Bf16Parts {
  bool rows = true;
  int64_t group = 0;  // columns of a group; 0: no groups
  bool column_sums = false;
};

/// A matrix (..., K) in one pass over its numbers. Sums do not depend on the number of threads.
Bf16Matrix to_bf16(const torch::Tensor& x, const Bf16Parts& parts);

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

/// Makes a `Bf16Matrix` (M, K) of its tiles, which may come in any order and from any threads.
class Bf16TileWriter {
 public:
  Bf16TileWriter(int64_t M, int64_t K, const Bf16Parts& parts);
  void write(const Tile& tile);
  Bf16Matrix finish() const;

 private:
  void write_groups(const uint16_t* halves, const Tile& tile);

  int64_t M_, K_, group_;
  Bf16Matrix matrix_;
  torch::Tensor block_sums_;  // (blocks of kRowsPerTask rows, K)
};

/// The panels of a weight (N, K): of products that sum over its columns, x W^T, and over its rows,
/// dy W.
torch::Tensor packed_rows(const torch::Tensor& weight);
torch::Tensor packed_columns(const torch::Tensor& weight);

/// The factor that makes the rows of a product.
struct RowFactor {
  torch::Tensor words;  // `rows` of a matrix, or its `groups` of kRowsPerTask columns
  int64_t n;
  bool grouped = false;
};

/// (rows, N) in fp32; `panels` is (panels, words, columns).
torch::Tensor bf16_product(const RowFactor& rows, const torch::Tensor& panels, int64_t N,
                           const torch::Tensor& bias = {});

/// The same product, which is not kept: `take(tile)` gets every part of it.
void bf16_product_tiles(const RowFactor& rows, const torch::Tensor& panels, int64_t N,
                        const torch::Tensor& bias, const std::function<void(const Tile&)>& take);

/// (..., K) as (M, K).
inline torch::Tensor as_matrix(const torch::Tensor& x) {
  return x.reshape({-1, x.size(-1)}).contiguous();
}

/// Whether rows x (..., K) in fp32 on the CPU fit a weight (N, K).
void check_bf16_factors(const torch::Tensor& x, const torch::Tensor& weight);

}  // namespace vitrine
