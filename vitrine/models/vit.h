#pragma once

// Vision Transformer: Dosovitskiy et al., "An Image is Worth 16x16 Words" (2021).
// Faithful: patches, class token, learned 1-D positions, pre-norm blocks, linear head; parameters
// have timm's names and shapes. Beyond the paper: other positions, mean pooling, post-norm, ReLU,
// stochastic depth, LayerScale, a class token without a position (both of DeiT-III), attention that
// costs less than all pairs, DeiT's distillation token with its head (Touvron et al., "Training
// data-efficient image transformers", 2021), a backbone before the patches (see hybrid.h), and the
// head of the CIFAR-10 network with 302M parameters (`token_gelu_norm`).

#include "vitrine/models/backbone.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/encoder_block.h"
#include "vitrine/nn/positional_encoding.h"

namespace vitrine {

enum class Pool { Token, Mean };
enum class VitHead { Linear, TokenGeluNorm };

struct VitConfig {
  int64_t image = 224;
  int64_t patch = 16;
  int64_t channels = 3;
  int64_t classes = 1000;
  int64_t dim = 768;
  int64_t depth = 12;
  int64_t heads = 12;
  int64_t hidden = 3072;
  PositionalEncoding positions = PositionalEncoding::Learned;
  Pool pool = Pool::Token;
  VitHead head = VitHead::Linear;
  NormPosition norm = NormPosition::Pre;
  Activation activation = Activation::Gelu;
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0;
  double norm_eps = 1e-6;
  double layer_scale = 0;      // DeiT-III starts it at 1e-6; 0: none
  bool class_position = true;  // of DeiT-III: false
  bool distilled = false;      // DeiT: a second token with a head that learns from a teacher
  EfficientAttentionConfig attention{};
  BackboneConfig backbone{};

  void visit(Fields& f);
  void validate() const;
  /// Tokens before the patches: the class token and that of distillation.
  int64_t prefix() const { return pool == Pool::Mean ? 0 : distilled ? 2 : 1; }
  /// The grid of patches and what each sees.
  ImageTokens tokens() const;
};

VitConfig vit_ti16();
VitConfig vit_s16();
VitConfig vit_b16();
VitConfig vit_b32();
VitConfig vit_l16();
VitConfig vit_h14();
VitConfig deit_ti16_distilled();
VitConfig deit_s16_distilled();
VitConfig deit_b16_distilled();
VitConfig vit_c10_302m();
VitConfig vit_c10_small();
VitConfig vit_c10_tiny();

/// Linear, GELU and dropout on every token, then the first token, then a norm over the classes:
/// (B, T, C) -> (B, N).
class TokenGeluNormHeadImpl : public torch::nn::Module {
 public:
  TokenGeluNormHeadImpl(int64_t dim, int64_t classes, double dropout);
  torch::Tensor forward(const torch::Tensor& x);
  /// What it makes of the first token alone: (B, C) -> (B, N).
  torch::Tensor logits(const torch::Tensor& token);

  const double dropout;
  Linear fc{nullptr};
  torch::nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(TokenGeluNormHead);

/// (B, channels, image, image) -> (B, classes). A distilled one has the features of both tokens,
/// (B, 2 C), and answers with the mean of both heads.
class Vit : public Model {
 public:
  explicit Vit(const VitConfig& c);
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor features(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& features) override;
  std::vector<torch::Tensor> logits_by_head(const torch::Tensor& features) override;
  void reset_head(int64_t classes) override;
  BlockListImpl::Blocks blocks_in_order() const override { return blocks->in_order(); }
  torch::Tensor example_input(int64_t batch) const override;
  std::optional<ImageShape> image_shape() const override;
  std::optional<ImageTokens> image_tokens() const override;
  torch::Tensor position_table() const override { return positions.table(); }
  torch::Tensor input_filters() const override { return patch_embed->input_filters(); }
  std::shared_ptr<BackboneImpl> backbone() const override { return backbone_; }

  VitConfig config;
  PatchEmbed patch_embed{nullptr};
  torch::Tensor cls_token;   // (1, 1, C), with Pool::Token only
  torch::Tensor dist_token;  // (1, 1, C), if distilled
  PositionEmbedding positions;
  BlockList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  Linear head{nullptr}, head_dist{nullptr};
  TokenGeluNormHead token_head{nullptr};

 private:
  PatchEmbed make_patch_embed();
  /// After the final norm: (B, T, C).
  torch::Tensor tokens_of(const torch::Tensor& x);

  std::shared_ptr<BackboneImpl> backbone_;  // of `patch_embed`
};

}  // namespace vitrine
