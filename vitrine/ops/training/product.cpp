#include "vitrine/ops/training/product.h"

#include <torch/torch.h>

namespace vitrine {

TrainingProduct::TrainingProduct(Precision precision, torch::Tensor panels, int64_t N,
                                 const torch::Tensor& bias)
    : precision_(precision),
      panels_(std::move(panels)),
      N_(N),
      bias_(padded_bias(bias, N, kernels::packed_layout())) {}

kernels::PackedProduct TrainingProduct::product_with(const WordRows& rows) const {
  return {.n = N_,
          .words = panels_.size(1),
          .rows = rows.words,
          .row_stride = rows.stride,
          .panels = panels_.data_ptr<int32_t>(),
          .bias = values_or_null(bias_)};
}

kernels::PackedProduct TrainingProduct::product_with(const RowFactor& rows) const {
  const auto words = panels_.size(1);
  auto product = product_with(WordRows{rows.words.data_ptr<int32_t>(), words, rows.n});
  if (rows.grouped) product.group = kRowsPerTask;
  return product;
}

template <typename Compute>
void TrainingProduct::for_all_parts(int64_t rows, const Compute& compute) const {
  for_all_panels(rows, N_, panels_.size(1) * numbers_per_word(precision_), kernels::packed_layout(),
                 compute);
}

torch::Tensor TrainingProduct::of(const RowFactor& rows) const {
  auto y = torch::empty({rows.n, N_});
  const auto all = product_with(rows);
  auto* out = y.data_ptr<float>();
  for_all_parts(rows.n, [&](int64_t panel, int64_t first, int64_t count) {
    auto part = all;
    part.rows += first * all.row_stride;
    part.y = out + first * N_;
    part.y_stride = N_;
    compute(part, panel, count);
  });
  return y;
}

void TrainingProduct::tiles_of(const RowFactor& rows,
                               const std::function<void(const Tile&)>& take) const {
  const auto all = product_with(rows);
  for_all_parts(rows.n, [&](int64_t panel, int64_t first, int64_t count) {
    take_tile(all, panel, first, count, take);
  });
}

void TrainingProduct::write(const WordRows& rows, float* y) const {
  auto product = product_with(rows);
  product.y = y;
  product.y_stride = N_;
  for (int64_t panel = 0; panel < panels_.size(0); ++panel) compute(product, panel, rows.rows);
}

void TrainingProduct::write_words(const WordRows& rows, Precision precision, int32_t* words) const {
  if (precision != Precision::BFloat16) return write(rows, reinterpret_cast<float*>(words));
  const FactorTarget to{.precision = precision,
                        .rows = words,
                        .row_words = kernels::words_of(N_, numbers_per_word(precision))};
  tiles(rows, [&](const Tile& tile) { to.write(tile); });
}

}  // namespace vitrine
