#pragma once

#include <torch/types.h>

namespace vitrine {

struct GroupNormWeights {
  int64_t groups = 1;
  torch::Tensor gamma, beta;  // (C)
  double eps = 1e-5;
};

/// GroupNorm of feature maps (B, C, H, W). The backward pass of torch copies maps that have their
/// channels last; ours reads them as they lie.
torch::Tensor group_norm(const torch::Tensor& x, const GroupNormWeights& norm);

}  // namespace vitrine
