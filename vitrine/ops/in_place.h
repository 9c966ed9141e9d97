#pragma once

#include <torch/types.h>

#include "vitrine/ops/cpu_kernel.h"

// For results that nobody else holds: they are overwritten, unless a trace (`ReferenceOps`) wants
// operators that change nothing.
namespace vitrine {

inline torch::Tensor relu_in_place(torch::Tensor x) {
  return ReferenceOps::wanted() ? x.relu() : x.relu_();
}

inline torch::Tensor add_in_place(torch::Tensor x, const torch::Tensor& y) {
  return ReferenceOps::wanted() ? x + y : x.add_(y);
}

}  // namespace vitrine
