#pragma once

// Tokens-to-Token ViT: Yuan et al., "Tokens-to-Token ViT: Training Vision Transformers from Scratch
// on ImageNet" (2021). The image is split softly (into windows that overlap) three times; in
// between, tokens attend to each other and lie on a map again. Faithful to the authors' PyTorch
// code, whose names and shapes the parameters have: both token layers, the skip connection from the
// values, fixed sinusoidal positions, no bias in the blocks' qkv, the scale 1 / sqrt(D) of the
// published weights. Not here: its variants with SE, dense connections and ghost layers.

#include "vitrine/models/model.h"
#include "vitrine/nn/feed_forward.h"

namespace vitrine {

/// How tokens of the first two splits attend to each other: `Performer` estimates softmax attention
/// by random features, `Transformer` is softmax attention.
enum class TokenLayerKind { Performer, Transformer };

struct T2tVitConfig {
  int64_t image = 224;
  int64_t channels = 3;
  int64_t classes = 1000;
  std::vector<int64_t> kernels = {7, 3, 3};  // sides of the windows of each split
  std::vector<int64_t> strides = {4, 2, 2};
  TokenLayerKind token_layer = TokenLayerKind::Performer;
  int64_t token_dim = 64;
  double token_dropout = 0.1;
  int64_t dim = 384;
  int64_t depth = 14;
  int64_t heads = 6;
  int64_t hidden = 1152;
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0;

  void visit(Fields& f);
  void validate() const;
  int64_t side(size_t split) const;  // of the grid of tokens behind this split
};

// Performer token layers.
T2tVitConfig t2t_vit_7();
T2tVitConfig t2t_vit_10();
T2tVitConfig t2t_vit_12();
T2tVitConfig t2t_vit_14();
T2tVitConfig t2t_vit_19();
T2tVitConfig t2t_vit_24();
// Transformer token layers.
T2tVitConfig t2t_vit_t_14();
T2tVitConfig t2t_vit_t_19();
T2tVitConfig t2t_vit_t_24();
T2tVitConfig t2t_c10();

struct TokenLayerConfig {
  int64_t in = 147;  // what a window holds
  int64_t dim = 64;  // of the tokens that come out
  double dropout = 0;
  TokenGrid grid{};  // where the tokens lie
};

/// Attention, whose skip connection is from the values, and a feed-forward network: (B, T, in) ->
/// (B, T, dim).
class TokenLayerImpl : public torch::nn::Module {
 public:
  explicit TokenLayerImpl(const TokenLayerConfig& c);
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;
  /// Makes queries, keys and values of a window.
  virtual const torch::Tensor& projection() const = 0;  // (3 * dim, in)

  const TokenLayerConfig config;
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
};
TORCH_MODULE(TokenLayer);

/// v + proj(softmax(q k / sqrt(in)) v), one head: (B, T, in) -> (B, T, dim).
class TokenAttentionImpl : public torch::nn::Module {
 public:
  explicit TokenAttentionImpl(const TokenLayerConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const TokenLayerConfig config;
  Linear qkv{nullptr}, proj{nullptr};
};
TORCH_MODULE(TokenAttention);

class TokenTransformerImpl : public TokenLayerImpl {
 public:
  explicit TokenTransformerImpl(const TokenLayerConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;
  const torch::Tensor& projection() const override { return attn->qkv->weight; }

  TokenAttention attn{nullptr};
  FeedForward mlp{nullptr};
};

/// exp(q k) is estimated by the inner product of positive random features of q and k, which are
/// fixed and stored with the weights.
class TokenPerformerImpl : public TokenLayerImpl {
 public:
  explicit TokenPerformerImpl(const TokenLayerConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;
  const torch::Tensor& projection() const override { return kqv->weight; }

  Linear kqv{nullptr}, proj{nullptr};
  torch::nn::Sequential mlp{nullptr};
  torch::Tensor w;  // (M, dim), a buffer: orthogonal rows of length sqrt(M)

 private:
  /// exp(w x - |x|^2 / 2) / sqrt(M): (B, T, dim) -> (B, T, M).
  torch::Tensor features_of(const torch::Tensor& x) const;
  torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k,
                       const torch::Tensor& v) const;
};

/// (B, channels, S, S) -> (B, T, dim).
class TokensToTokenImpl : public torch::nn::Module {
 public:
  explicit TokensToTokenImpl(const T2tVitConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const T2tVitConfig config;
  TokenLayer attention1{nullptr}, attention2{nullptr};
  Linear project{nullptr};

 private:
  /// The windows of a map: (B, C, S, S) -> (B, T, C * k * k).
  torch::Tensor split(const torch::Tensor& map, size_t index) const;
  /// Tokens behind a split as a map: (B, T, C) -> (B, C, side, side).
  torch::Tensor as_map(const torch::Tensor& tokens, size_t index) const;
};
TORCH_MODULE(TokensToToken);

/// (B, channels, image, image) -> (B, classes).
class T2tVit : public Model {
 public:
  explicit T2tVit(const T2tVitConfig& c);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  /// The tokens of the first split, the last before any attention.
  std::optional<ImageTokens> image_tokens() const override;
  torch::Tensor position_table() const override { return pos_embed; }
  torch::Tensor input_filters() const override;

  T2tVitConfig config;
  TokensToToken tokens_to_token{nullptr};
  torch::Tensor cls_token;  // (1, 1, dim)
  torch::Tensor
      pos_embed;  // (1, 1 + T, dim), a buffer: published files hold it, some of another grid
  BlockList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  Linear head{nullptr};
};

}  // namespace vitrine
