#pragma once

#include <torch/types.h>

#include "vitrine/weights/name_map.h"

namespace vitrine {

/// What an account says of a step; "" if it leaves the values where they are.
const char* step_name(Step step);
bool has_step(const std::vector<Step>& steps, Step step);

/// A tensor of theirs with the steps done; undefined if it has not the dimensions for them.
/// `wanted` is the shape it should get, or empty if that is not known.
torch::Tensor with_steps(const std::vector<Step>& steps, torch::Tensor tensor,
                         const std::vector<int64_t>& wanted);

/// A tensor of ours with the steps undone.
torch::Tensor without_steps(const std::vector<Step>& steps, torch::Tensor tensor, int64_t heads);

/// The shape that a tensor of theirs must have to get the shape `wanted`; the number of heads is
/// taken from the tensor at hand.
std::vector<int64_t> their_shape(const std::vector<Step>& steps, const torch::Tensor& tensor,
                                 const std::vector<int64_t>& wanted);

}  // namespace vitrine
