#pragma once

#include <functional>

#include "vitrine/kernels/packed_product.h"
#include "vitrine/ops/training/factors.h"

namespace vitrine {

/// The factor that makes the rows of a product.
struct RowFactor {
  torch::Tensor words;  // `rows` of a factor, or its `groups` of kRowsPerTask columns
  int64_t n;
  bool grouped = false;
};

/// Products with panels (panels, words, columns) of N outputs; a bias (N) may be undefined.
class TrainingProduct {
 public:
  TrainingProduct(Precision precision, torch::Tensor panels, int64_t N,
                  const torch::Tensor& bias = {});

  /// (rows, N) in fp32.
  torch::Tensor of(const RowFactor& rows) const;
  /// The same, which is not kept: `take(tile)` gets every part of it.
  void tiles_of(const RowFactor& rows, const std::function<void(const Tile&)>& take) const;

  /// The product of some rows by this thread alone: (rows, N).
  void write(const WordRows& rows, float* y) const;
  /// The same as words: numbers in fp32, or rounded to bf16.
  void write_words(const WordRows& rows, Precision precision, int32_t* words) const;
  /// The same, tile by tile.
  template <typename Take>
  void tiles(const WordRows& rows, const Take& take) const {
    const auto part = product_with(rows);
    for (int64_t panel = 0; panel < panels_.size(0); ++panel)
      for (int64_t first = 0; first < rows.rows; first += kRowsPerTask)
        take_tile(part, panel, first, std::min(kRowsPerTask, rows.rows - first), take);
  }

 private:
  kernels::PackedProduct product_with(const RowFactor& rows) const;
  kernels::PackedProduct product_with(const WordRows& rows) const;
  void compute(const kernels::PackedProduct& part, int64_t panel, int64_t count) const {
    const auto kernel =
        precision_ == Precision::BFloat16 ? kernels::bf16_product : kernels::fp32_product;
    kernel(part, panel, /*first=*/0, count);
  }
  /// Calls `compute(panel, first, count)` for all parts, from all threads.
  template <typename Compute>
  void for_all_parts(int64_t rows, const Compute& compute) const;

  /// The tile of one panel and `count` rows from `first` on. `all` has the rows, wherever they lie.
  template <typename Take>
  void take_tile(const kernels::PackedProduct& all, int64_t panel, int64_t first, int64_t count,
                 const Take& take) const {
    float values[kRowsPerTask * kMostColumns];
    const auto columns = panels_.size(2), column = panel * columns;
    auto part = all;  // of this panel alone
    part.n -= column;
    part.rows += first * all.row_stride;
    part.panels += column * part.words;
    if (part.bias) part.bias += column;
    part.y = values;
    part.y_stride = columns;
    if (part.n < columns) std::fill_n(values, count * columns, 0.0f);
    compute(part, /*panel=*/0, count);
    take(Tile{values, columns, first, count, column, std::min(columns, part.n)});
  }

  Precision precision_;
  torch::Tensor panels_;
  int64_t N_;
  torch::Tensor bias_;  // padded to whole panels
};

}  // namespace vitrine
