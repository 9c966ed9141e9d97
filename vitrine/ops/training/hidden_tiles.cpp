#include "vitrine/ops/training/hidden_tiles.h"

#include <torch/torch.h>

#include <algorithm>

#include "vitrine/kernels/activation.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/packed_product.h"

namespace vitrine {

void TileDropout::apply(const Tile& tile) const {
  if (p == 0) return;
  for (int64_t r = 0; r < tile.rows; ++r) {
    auto* row = tile.values + r * tile.stride;
    kernels::dropout(row, row, tile.columns, static_cast<float>(p), static_cast<uint64_t>(key),
                     static_cast<uint64_t>((first_row + tile.row + r) * K + tile.column));
  }
}

ActivationInputs::ActivationInputs(int64_t M, int64_t K, Precision precision, Activation function)
    : function_(function) {
  const auto layout = kernels::packed_layout();
  numbers_ = torch::empty({layout.panels(K), M, layout.columns},
                          precision == Precision::BFloat16 ? torch::kBFloat16 : torch::kFloat);
}

void ActivationInputs::keep(const Tile& tile, int64_t first_row) const {
  if (in_bf16())
    kernels::round_row(tile.values, tile.numbers(), of<int32_t>(tile, first_row));
  else
    std::copy_n(tile.values, tile.numbers(), of<float>(tile, first_row));
}

void ActivationInputs::backward(const Tile& tile, int64_t first_row, float* outputs) const {
  if (in_bf16())
    kernels::bf16_activate_with_backward(function_, of<int32_t>(tile, first_row), tile.numbers(),
                                         outputs, tile.values);
  else
    kernels::activate_with_backward(function_, of<float>(tile, first_row), tile.numbers(), outputs,
                                    tile.values);
}

}  // namespace vitrine
