#pragma once

#include <torch/types.h>

#include <cmath>
#include <vector>

#include "vitrine/labs/block_numbers.h"
#include "vitrine/labs/plain_values.h"

namespace vitrine::labs {

/// The heads of a layer's attention weights (B, H, T, T), in the mean over the examples.
inline std::vector<HeadMap> head_maps(const torch::Tensor& weights) {
  const auto mean = weights.mean(0);                                             // (H, T, T)
  const auto entropy = -torch::xlogy(weights, weights).sum(-1).mean(2).mean(0);  // (H)
  const double greatest = std::log(static_cast<double>(weights.size(-1)));
  std::vector<HeadMap> heads;
  for (int64_t head = 0; head < mean.size(0); ++head)
    heads.push_back({plain_matrix(mean[head]), entropy[head].item<double>() / greatest});
  return heads;
}

}  // namespace vitrine::labs
