#pragma once

// Compact Convolutional Transformer: Hassani et al., "Escaping the Big Data Paradigm with Compact
// Transformers" (2021). Faithful: convolutional tokenizer, learned positions, sequence pooling,
// no bias in qkv, the second norm of each block on the residual stream (`norm_stream`).

#include "vitrine/models/model.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/positional_encoding.h"

namespace vitrine {

struct CctConfig {
  int64_t image = 32;
  int64_t channels = 3;
  int64_t classes = 10;
  int64_t convolutions = 2;
  int64_t kernel = 3;
  int64_t stride = 1;          // of each convolution, before its pooling
  int64_t stem_channels = 64;  // channels after the first of several convolutions
  int64_t dim = 128;
  int64_t depth = 2;
  int64_t heads = 2;
  int64_t hidden = 128;
  PositionalEncoding positions = PositionalEncoding::Learned;
  bool norm_stream = true;
  double dropout = 0;
  double attention_dropout = 0.1;
  double drop_path = 0.1;

  void visit(Fields& f);
  void validate() const;
  int64_t side() const;  // of the grid of tokens
};

CctConfig cct_2_3x2();
CctConfig cct_4_3x2();
CctConfig cct_6_3x1();
CctConfig cct_7_3x1();
CctConfig cct_14_7x2();

/// Convolution, ReLU and pooling, `convolutions` times, then one token per position:
/// (B, channels, S, S) -> (B, T, C).
class ConvTokenizerImpl : public torch::nn::Module {
 public:
  explicit ConvTokenizerImpl(const CctConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  torch::nn::ModuleList convs{nullptr};
};
TORCH_MODULE(ConvTokenizer);

/// (B, channels, image, image) -> (B, classes).
class Cct : public Model {
 public:
  explicit Cct(const CctConfig& c);
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  std::optional<ImageTokens> image_tokens() const override;
  torch::Tensor position_table() const override { return positions.table(); }
  torch::Tensor input_filters() const override;

  CctConfig config;
  ConvTokenizer tokenizer{nullptr};
  PositionEmbedding positions;
  BlockList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  Linear pool{nullptr}, head{nullptr};
};

}  // namespace vitrine
