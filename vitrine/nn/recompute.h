#pragma once

#include <torch/torch.h>

#include <functional>

namespace vitrine {

/// f(x) without keeping what lies between: the backward pass computes it again, with the same
/// random numbers, and adds to the gradients of the parameters that f uses. (Where `x` itself
/// needs no gradient, f runs as it is.)
torch::Tensor recomputed(const std::function<torch::Tensor(const torch::Tensor&)>& f,
                         const torch::Tensor& x);

/// Whether this thread is computing something again for the backward pass: layers that count what
/// passes (BatchNorm) have seen it already.
bool is_recomputing();

/// Whether what this thread computes has a backward pass: gradients are on, or it will be computed
/// again with them.
bool backward_follows();

}  // namespace vitrine
