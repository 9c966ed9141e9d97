#pragma once

#include <torch/types.h>

namespace vitrine {

/// Whether our kernels can work on the tensor: float or double in the CPU's memory.
inline bool has_cpu_kernel(const torch::Tensor& t) {
  return t.device().is_cpu() &&
         (t.scalar_type() == torch::kFloat || t.scalar_type() == torch::kDouble);
}

}  // namespace vitrine
