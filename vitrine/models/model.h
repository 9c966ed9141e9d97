#pragma once

#include <torch/torch.h>

#include <optional>

#include "vitrine/core/task.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

class Decoder;

/// What an image classifier takes and gives: (B, channels, image, image) -> (B, classes).
struct ImageShape {
  int64_t channels = 3, image = 224, classes = 1000;
};

/// Any network the tools can drive without knowing it.
class Model : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;
  /// An input of the right shape and type, for tests, summaries and benchmarks.
  virtual torch::Tensor example_input(int64_t batch) const = 0;
  virtual Task task() const { return Task::Classes; }
  /// Nothing for models that do not take pictures.
  virtual std::optional<ImageShape> image_shape() const { return std::nullopt; }
  /// Nothing for models without attention over patches.
  virtual std::optional<TokenGrid> token_grid() const { return std::nullopt; }
  /// The positions' table (1, T, C); undefined for models without one.
  virtual torch::Tensor position_table() const { return {}; }
  /// Null for models that do not predict each token of a sequence from those before it.
  virtual Decoder* decoder() { return nullptr; }

  /// Gradient checkpointing: keep only the blocks' inputs, compute their inside again in backward.
  bool recompute_blocks = false;
};

}  // namespace vitrine
