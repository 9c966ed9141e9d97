#pragma once

#include <torch/torch.h>

#include <optional>

#include "vitrine/core/task.h"
#include "vitrine/nn/block.h"
#include "vitrine/nn/linear.h"
#include "vitrine/nn/parameter_info.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

class BackboneImpl;
class Decoder;
struct BackboneConfig;

/// What an image classifier takes and gives: (B, channels, image, image) -> (B, classes).
struct ImageShape {
  int64_t channels = 3, image = 224, classes = 1000;
};

/// Any network the tools can drive without knowing it.
class Model : public torch::nn::Module {
 public:
  /// The output: logits(features(x)), unless the head reads more than the features.
  virtual torch::Tensor forward(const torch::Tensor& x);
  /// What the head reads: (B, C) of models that give one output per example, (B, T, C) of those
  /// that give one per token.
  virtual torch::Tensor features(const torch::Tensor& x) = 0;
  /// The head: from features to outputs.
  virtual torch::Tensor logits(const torch::Tensor& features) = 0;
  /// What each head makes of the features. Of several, each reads its part of the features, which
  /// lie side by side, and `logits` is their mean; an objective may train each on its own.
  virtual std::vector<torch::Tensor> logits_by_head(const torch::Tensor& features);
  /// Replaces the head, or each of them, by one for this many classes, all zero; `image_shape`
  /// follows. A checkpoint that is saved then must name the new `classes`, too. Throws where there
  /// is no head to replace.
  virtual void reset_head(int64_t classes);

  /// The blocks in the order in which they run; empty: there is nothing to compute again.
  virtual BlockListImpl::Blocks blocks_in_order() const { return {}; }
  /// The parameters that learn, with what an optimizer must know of each.
  std::vector<ParameterInfo> parameter_info() const;

  /// An input of the right shape and type, for tests, summaries and benchmarks.
  virtual torch::Tensor example_input(int64_t batch) const = 0;
  virtual Task task() const { return Task::Classes; }
  /// Nothing for models that do not take images.
  virtual std::optional<ImageShape> image_shape() const { return std::nullopt; }
  /// Nothing for models that do not cut images into tokens, or whose tokens have no common size.
  virtual std::optional<ImageTokens> image_tokens() const { return std::nullopt; }
  /// The positions' table (1, T, C); undefined for models without one and for those with several.
  virtual torch::Tensor position_table() const { return {}; }
  /// All tables of positions, which loading may interpolate to other grids.
  virtual std::vector<torch::Tensor> position_tables() const { return {position_table()}; }
  /// What the first layer makes of the pixels: filters (C, channels, k, k); undefined for models
  /// that do not take images or do not show them.
  virtual torch::Tensor input_filters() const { return {}; }
  /// Null for models that do not predict each token of a sequence from those before it.
  virtual Decoder* decoder() { return nullptr; }
  /// The network before the patches of a hybrid (models/backbone.h); null for other models.
  virtual std::shared_ptr<BackboneImpl> backbone() const { return nullptr; }
  /// The backbone that a hybrid would make of this network: it has these weights, but for the
  /// head's, under the same names. Nothing for models that cannot be one.
  virtual std::optional<BackboneConfig> as_backbone() const;

  /// Gradient checkpointing: keep only the blocks' inputs, compute their inside again in backward.
  bool recompute_blocks = false;

 protected:
  /// Puts a zero layer for `classes`, with a bias, in the place of `head`, which is registered as
  /// `name`.
  void replace_head(const std::string& name, Linear& head, int64_t classes);
};

}  // namespace vitrine
