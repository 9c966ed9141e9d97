#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/kernels/adam.h"

namespace vitrine {

/// One Adam or AdamW step in place; all four tensors have the same shape.
void adam_update(const kernels::AdamStep& step, torch::Tensor& weight,
                 const torch::Tensor& gradient, torch::Tensor& moment1, torch::Tensor& moment2);

/// The same by plain torch operations.
void adam_update_reference(const kernels::AdamStep& step, torch::Tensor& weight,
                           const torch::Tensor& gradient, torch::Tensor& moment1,
                           torch::Tensor& moment2);

/// The Euclidean norm of all tensors together; undefined ones count as zero.
double joint_norm(const std::vector<torch::Tensor>& tensors);

}  // namespace vitrine
