#pragma once

#include <torch/torch.h>

#include <optional>

#include "vitrine/core/fields.h"
#include "vitrine/nn/block.h"
#include "vitrine/nn/efficient_attention.h"
#include "vitrine/nn/feed_forward.h"
#include "vitrine/ops/packed_block.h"
#include "vitrine/ops/training/encoder_block.h"

namespace vitrine {

enum class NormPosition { Pre, Post };
const Choices<NormPosition>& norm_position_names();

struct EncoderBlockConfig {
  int64_t dim = 64;
  int64_t heads = 4;
  int64_t hidden = 256;
  Activation activation = Activation::Gelu;
  NormPosition norm = NormPosition::Pre;
  bool norm_stream = false;  // with Pre: the second norm acts on the residual stream (CCT)
  bool qkv_bias = true;
  double norm_eps = 1e-6;
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0;
  double layer_scale = 0;  // initial value of LayerScale; 0: none
  bool causal = false;
  int64_t max_relative_distance = 0;  // as in AttentionConfig
  EfficientAttentionConfig attention{};
  TokenGrid grid{};  // of every input; not all kinds of attention need to know
};

/// Multiplies each channel by a learned number, which starts small (Touvron et al., "Going deeper
/// with Image Transformers", 2021): (B, T, C) -> (B, T, C).
class LayerScaleImpl : public torch::nn::Module {
 public:
  LayerScaleImpl(int64_t dim, double initial)
      : gamma(register_parameter("gamma", torch::full({dim}, initial))) {}
  torch::Tensor forward(const torch::Tensor& x) { return x * gamma; }

  torch::Tensor gamma;  // (C)
};
TORCH_MODULE(LayerScale);

/// Attention and feed-forward, each with a residual and a norm: (B, T, C) -> (B, T, C).
/// Pre: x + f(norm(x)), or with `norm_stream`, of the feed-forward: norm(x) + f(norm(x)). Post:
/// norm(x + f(x)). LayerScale acts on f's output.
class EncoderBlockImpl : public BlockImpl {
 public:
  explicit EncoderBlockImpl(const EncoderBlockConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;
  std::unique_ptr<BlockCache> make_cache(int64_t batch) const override;
  torch::Tensor step(const torch::Tensor& x, BlockCache& cache) override;

  const EncoderBlockConfig config;
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  SelfAttention attn{nullptr};
  FeedForward mlp{nullptr};
  LayerScale ls1{nullptr}, ls2{nullptr};  // with config.layer_scale only

 private:
  /// The precision in which the block learns as one operation; nothing if its layers run one after
  /// the other, because it is of another form, does not learn or somebody looks inside.
  std::optional<Precision> learns_as_one(const torch::Tensor& x) const;
  /// The same for packed weights, without gradients.
  bool runs_as_one(const torch::Tensor& x) const;
  /// Pre-norm, with softmax attention over all pairs of tokens.
  bool is_usual() const;
  bool is_packed() const;
  PackedBlock packed() const;
  EncoderBlockWeights training_weights() const;
  EncoderBlockSettings training_settings() const;
  /// The block around `attend`, its attention over all tokens or over the next one.
  template <typename Attend>
  torch::Tensor around(const torch::Tensor& x, const Attend& attend);
};
TORCH_MODULE(EncoderBlock);

/// `depth` blocks whose stochastic depth grows linearly from 0 to `config.drop_path`.
BlockList encoder_blocks(const EncoderBlockConfig& config, int64_t depth);

}  // namespace vitrine
