#pragma once

#include "vitrine/core/activation.h"
#include "vitrine/ops/training/factors.h"

// What happens between the two layers of a feed-forward network that learns, tile by tile. Tiles
// may count their rows from `first_row` of the whole matrix on.
namespace vitrine {

/// Dropout of a matrix (M, K).
struct TileDropout {
  double p;
  int64_t key, K;
  int64_t first_row = 0;

  void apply(const Tile& tile) const;
};

/// The inputs of an activation function, which the backward pass needs: in fp32, or rounded to
/// bf16.
class ActivationInputs {
 public:
  /// Kept before.
  ActivationInputs(torch::Tensor numbers, Activation function)
      : numbers_(std::move(numbers)), function_(function) {}
  /// To be kept.
  ActivationInputs(int64_t M, int64_t K, Precision precision, Activation function);

  void keep(const Tile& tile, int64_t first_row = 0) const;
  /// Makes gradients of the outputs those of the inputs, and writes the outputs once more: as many
  /// numbers as the tile has.
  void backward(const Tile& tile, int64_t first_row, float* outputs) const;

  const torch::Tensor& numbers() const { return numbers_; }

 private:
  bool in_bf16() const { return numbers_.scalar_type() == torch::kBFloat16; }
  template <typename Word>
  Word* of(const Tile& tile, int64_t first_row) const {
    const auto first = tile.column * numbers_.size(1) + (first_row + tile.row) * tile.stride;
    auto* bytes = static_cast<char*>(numbers_.data_ptr());
    return reinterpret_cast<Word*>(bytes + first * static_cast<int64_t>(numbers_.element_size()));
  }

  torch::Tensor numbers_;  // (panels, M, columns of a panel), tile behind tile
  Activation function_;
};

}  // namespace vitrine
