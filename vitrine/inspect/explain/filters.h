#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/inspect/explain.h"

namespace vitrine {

/// The first `count` principal components of filters (C, channels, k, k), the largest first. Their
/// sign is such that the largest value is positive.
std::vector<FilterComponent> filter_components(const torch::Tensor& filters, int64_t count);

}  // namespace vitrine
