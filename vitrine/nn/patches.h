#pragma once

#include <torch/torch.h>

namespace vitrine {

/// Cuts an image into patches and projects each: (B, channels, S, S) -> (B, (S / patch)^2, dim).
class PatchEmbedImpl : public torch::nn::Module {
 public:
  PatchEmbedImpl(int64_t channels, int64_t patch, int64_t dim);
  virtual torch::Tensor forward(const torch::Tensor& x);
  /// What the first layer makes of the pixels: (C, channels, k, k).
  virtual torch::Tensor input_filters() const { return proj->weight; }

  const int64_t patch;
  torch::nn::Conv2d proj{nullptr};  // its weight is used as one matrix product
};
TORCH_MODULE(PatchEmbed);

/// The same with a LayerNorm over each token.
class NormedPatchEmbedImpl : public PatchEmbedImpl {
 public:
  NormedPatchEmbedImpl(int64_t channels, int64_t patch, int64_t dim);
  torch::Tensor forward(const torch::Tensor& x) override;

  torch::nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(NormedPatchEmbed);

}  // namespace vitrine
