#pragma once

#include <torch/types.h>

namespace vitrine {

/// While it lives, ops on this thread take their plain-torch references, so that a trace sees
/// nothing but torch's operators.
class ReferenceOps {
 public:
  ReferenceOps();
  ReferenceOps(const ReferenceOps&) = delete;
  ReferenceOps& operator=(const ReferenceOps&) = delete;
  ~ReferenceOps();

  /// Whether one lives on this thread.
  static bool wanted();

 private:
  bool outer_;
};

/// Whether our kernels can work on the tensor: float or double in the CPU's memory, and no
/// `ReferenceOps` lives.
inline bool has_cpu_kernel(const torch::Tensor& t) {
  return !ReferenceOps::wanted() && t.device().is_cpu() &&
         (t.scalar_type() == torch::kFloat || t.scalar_type() == torch::kDouble);
}

}  // namespace vitrine
