#pragma once

#include <torch/types.h>

namespace vitrine {

/// For arguments of autograd functions, which take no undefined tensors.
using OptionalTensor = c10::optional<torch::Tensor>;

inline OptionalTensor if_defined(const torch::Tensor& t) {
  return t.defined() ? OptionalTensor(t) : c10::nullopt;
}

}  // namespace vitrine
