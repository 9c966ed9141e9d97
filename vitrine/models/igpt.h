#pragma once

// iGPT: Chen et al., "Generative Pretraining from Pixels" (ICML 2020). An image is a sequence of
// colours out of a palette, and each is predicted from those before it. Features of a layer in the
// middle then tell the classes of images. Blocks, norms, initialisation and numbers of parameters
// are those of the authors' program. Not here: the masked (BERT) objective, which predicts hidden
// pixels, and the attention over 48 x 48 and 64 x 64 pixels of the paper's largest networks.

#include "vitrine/core/fields.h"
#include "vitrine/models/decoder.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/attention.h"
#include "vitrine/nn/feed_forward.h"
#include "vitrine/nn/rms_norm.h"

namespace vitrine {

struct IgptConfig {
  int64_t image = 32;
  int64_t colors = 512;
  int64_t dim = 512;
  int64_t heads = 8;
  int64_t hidden = 2048;
  int64_t layers = 24;
  int64_t classes = 0;
  int64_t feature_layer = 0;

  int64_t tokens() const { return image * image; }
  /// The blocks before the features that a classifier reads.
  int64_t feature_blocks() const { return feature_layer > 0 ? feature_layer : (layers + 1) / 2; }
  void visit(Fields& f);
  void validate() const;
};

IgptConfig igpt_s();
IgptConfig igpt_m();
IgptConfig igpt_l();
/// CIFAR-10 at half its side, small enough for two cores.
IgptConfig igpt_c10();

/// h = x + attn(norm1(x)), then h + mlp(norm2(h)), nothing with a bias: (B, T, C) -> (B, T, C).
class IgptBlockImpl : public BlockImpl {
 public:
  explicit IgptBlockImpl(const IgptConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;
  std::unique_ptr<BlockCache> make_cache(int64_t batch) const override;
  torch::Tensor step(const torch::Tensor& x, BlockCache& cache) override;

  RmsNorm norm1{nullptr}, norm2{nullptr};
  Attention attn{nullptr};
  FeedForward mlp{nullptr};

 private:
  /// The block around `attend`, its attention over all tokens or over the next one.
  template <typename Attend>
  torch::Tensor around(const torch::Tensor& x, const Attend& attend);
};
TORCH_MODULE(IgptBlock);

/// Without classes: (B, T) colours, row by row -> (B, T, colors), logits of each from those before
/// it. With classes it is an image classifier: (B, 3, H, W) from -1 to 1 -> (B, classes), from the
/// mean of the normalised tokens behind block `feature_blocks()`. The blocks behind it are kept, so
/// that weights have the same names, but do not compute.
class Igpt : public Model, public BlockDecoder {
 public:
  explicit Igpt(const IgptConfig& c);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  /// Makes a classifier of it.
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor example_input(int64_t batch) const override;
  Task task() const override { return classes_ > 0 ? Task::Classes : Task::NextToken; }
  std::optional<ImageShape> image_shape() const override;
  torch::Tensor position_table() const override { return pos_embed; }

  /// The nearest colour of each pixel: (B, 3, H, W) from -1 to 1 -> (B, H * W) int64.
  torch::Tensor quantized(const torch::Tensor& images) const;

  Decoder* decoder() override { return classes_ > 0 ? nullptr : this; }
  int64_t vocabulary() const override { return config.colors; }
  int64_t context() const override { return config.tokens(); }
  std::optional<ImageLayout> image_layout() const override;
  torch::Tensor palette() const override { return colors; }

  const IgptConfig config;
  torch::Tensor start;  // (dim), stands before the first colour
  torch::nn::Embedding embedding{nullptr};
  torch::Tensor pos_embed;  // (1, T, dim)
  BlockList blocks{nullptr};
  RmsNorm norm{nullptr};
  Linear head{nullptr};
  torch::Tensor colors;  // (colors, 3) from -1 to 1, the palette; at first a regular grid

 protected:
  Parts parts() const override;

 private:
  void initialize();
  /// Tokens before the blocks: each sees what was read before it, (B, T, C).
  torch::Tensor embed(const torch::Tensor& tokens);
  /// The mean of the tokens behind the first blocks: (B, C).
  torch::Tensor pooled(const torch::Tensor& tokens);

  int64_t classes_;
};

}  // namespace vitrine
