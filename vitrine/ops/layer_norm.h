#pragma once

#include <torch/torch.h>

namespace vitrine {

/// LayerNorm over the last dimension with the module's weights. Narrow rows, on which torch spends
/// more time than the arithmetic takes, have a kernel of our own.
torch::Tensor layer_norm(const torch::Tensor& x, const torch::nn::LayerNorm& norm);

}  // namespace vitrine
