#include "vitrine/nn/patches.h"

#include "vitrine/core/error.h"
#include "vitrine/nn/linear.h"
#include "vitrine/ops/layer_norm.h"

namespace vitrine {

PatchEmbedImpl::PatchEmbedImpl(int64_t channels, int64_t p, int64_t dim) : patch(p) {
  proj = register_module(
      "proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, dim, patch).stride(patch)));
}

torch::Tensor PatchEmbedImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), C = x.size(1), R = x.size(2) / patch, L = x.size(3) / patch;
  check(x.size(2) % patch == 0 && x.size(3) % patch == 0,
        "patch_embed: an image of {} x {} cannot be cut into patches of {}", x.size(2), x.size(3),
        patch);
  const auto patches = x.reshape({B, C, R, patch, L, patch})
                           .permute({0, 2, 4, 1, 3, 5})
                           .reshape({B, R * L, C * patch * patch});
  return linear_product(patches, proj->weight.flatten(1), proj->bias);  // (B, R * L, dim)
}

NormedPatchEmbedImpl::NormedPatchEmbedImpl(int64_t channels, int64_t p, int64_t dim)
    : PatchEmbedImpl(channels, p, dim) {
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim})));
}

torch::Tensor NormedPatchEmbedImpl::forward(const torch::Tensor& x) {
  return layer_norm(PatchEmbedImpl::forward(x), norm);
}

}  // namespace vitrine
