#pragma once

#include <torch/torch.h>

#include <functional>

namespace vitrine {

/// f(x) without keeping what lies between: the backward pass computes it again, with the same
/// random numbers. `parameters` are those that f uses.
torch::Tensor recomputed(const std::function<torch::Tensor(const torch::Tensor&)>& f,
                         const torch::Tensor& x, std::vector<torch::Tensor> parameters);

}  // namespace vitrine
