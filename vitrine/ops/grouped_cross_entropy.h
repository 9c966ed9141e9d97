#pragma once

#include <torch/types.h>

#include <span>

namespace vitrine {

/// The mean cross-entropy of questions that are answered together: logits (B, S) fall into `groups`
/// of choices, targets (B, number of groups) name the right one in each. `smoothing` is the
/// fraction of a target that is spread over its group.
torch::Tensor grouped_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets,
                                    std::span<const int64_t> groups, double smoothing = 0);

/// The same by plain torch operations: the definition, and the path for devices without kernels.
torch::Tensor grouped_cross_entropy_reference(const torch::Tensor& logits,
                                              const torch::Tensor& targets,
                                              std::span<const int64_t> groups,
                                              double smoothing = 0);

}  // namespace vitrine
