#pragma once

// Transformer in Transformer: Han et al., "Transformer in Transformer" (2021). A patch is a
// sentence of words: an inner transformer mixes the words of each patch, an outer one the patches,
// which read their words in every block. Faithful to the authors' PyTorch code: patches are cut
// before the convolution that makes words, queries and keys share a matrix, values have their own,
// no bias in either; parameters have its names and shapes. Not here: its squeeze-and-excitation
// variant, and `outer_tokens`, zeros that nothing reads.
//
// Attention among words never leaves their patch: on the grid of patches it is the identity. So
// only the attention among patches is recorded (nn/attention_capture.h).

#include "vitrine/models/model.h"
#include "vitrine/nn/feed_forward.h"

namespace vitrine {

struct TntConfig {
  int64_t image = 224;
  int64_t patch = 16;
  int64_t channels = 3;
  int64_t classes = 1000;
  int64_t dim = 384;
  int64_t depth = 12;
  int64_t heads = 6;
  int64_t hidden = 1536;
  int64_t inner_dim = 24;
  int64_t inner_heads = 4;
  int64_t inner_hidden = 96;
  int64_t inner_stride = 4;  // pixels between words
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0;

  void visit(Fields& f);
  void validate() const;
  int64_t side() const { return image / patch; }  // of the grid of patches
  int64_t words() const;                          // of a patch
};

TntConfig tnt_s();
TntConfig tnt_b();
TntConfig tnt_c10();

/// Cuts an image into P patches and makes words of each, by one convolution inside the patch:
/// (B, channels, S, S) -> (B * P, words, inner_dim).
class TntWordsImpl : public torch::nn::Module {
 public:
  explicit TntWordsImpl(const TntConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const int64_t patch;
  torch::nn::Conv2d proj{nullptr};
};
TORCH_MODULE(TntWords);

struct TntAttentionConfig {
  int64_t dim = 384;
  int64_t heads = 6;
  double dropout = 0;            // after the output projection
  double attention_dropout = 0;  // on the attention weights
  TokenGrid grid{};              // where the tokens lie; empty: they are words, nothing is recorded
};

/// Softmax attention over all pairs of tokens, with a matrix for queries and keys and one for
/// values: (B, T, C) -> (B, T, C).
class TntAttentionImpl : public torch::nn::Module {
 public:
  explicit TntAttentionImpl(const TntAttentionConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const TntAttentionConfig config;
  Linear qk{nullptr}, v{nullptr}, proj{nullptr};
};
TORCH_MODULE(TntAttention);

/// The words of each patch are mixed and added to their patch, then the patches are mixed. What
/// goes through the blocks is (B, 1 + P, dim + words * inner_dim): every patch with its words
/// behind it, and the class token with zeros.
class TntBlockImpl : public BlockImpl {
 public:
  TntBlockImpl(const TntConfig& c, double drop);
  torch::Tensor forward(const torch::Tensor& x) override;

  const TntConfig config;
  const double drop_rate;  // of both transformers' sublayers
  torch::nn::LayerNorm inner_norm1{nullptr}, inner_norm2{nullptr};
  TntAttention inner_attn{nullptr};
  FeedForward inner_mlp{nullptr};
  torch::nn::LayerNorm proj_norm1{nullptr}, proj_norm2{nullptr};
  Linear proj{nullptr};
  torch::nn::LayerNorm outer_norm1{nullptr}, outer_norm2{nullptr};
  TntAttention outer_attn{nullptr};
  FeedForward outer_mlp{nullptr};
};

/// (B, channels, image, image) -> (B, classes).
class Tnt : public Model {
 public:
  explicit Tnt(const TntConfig& c);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  std::optional<ImageTokens> image_tokens() const override;
  torch::Tensor position_table() const override { return outer_pos; }
  torch::Tensor input_filters() const override { return patch_embed->proj->weight; }

  TntConfig config;
  TntWords patch_embed{nullptr};
  torch::nn::LayerNorm proj_norm1{nullptr}, proj_norm2{nullptr};
  Linear proj{nullptr};
  torch::Tensor cls_token;  // (1, 1, dim)
  torch::Tensor outer_pos;  // (1, 1 + P, dim)
  torch::Tensor inner_pos;  // (1, words, inner_dim)
  BlockList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  Linear head{nullptr};
};

}  // namespace vitrine
