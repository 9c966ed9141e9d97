#pragma once

#include <torch/types.h>

namespace vitrine {

/// The rows of a table (N, C) that `indices` (...), int64 from 0 to N - 1, name: (..., C). For
/// small tables: the gradient of the table is summed in pieces that each hold a whole one.
torch::Tensor lookup(const torch::Tensor& indices, const torch::Tensor& table);

/// The same by torch's embedding.
torch::Tensor lookup_reference(const torch::Tensor& indices, const torch::Tensor& table);

}  // namespace vitrine
