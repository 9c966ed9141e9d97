#pragma once

#include <torch/torch.h>

#include <vector>

#include "vitrine/plot/colors.h"

namespace vitrine {

/// All values of a tensor in their order, without torch.
inline std::vector<double> plain_values(const torch::Tensor& t) {
  const auto values = t.detach().to(torch::kCPU, torch::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

/// A matrix (rows, columns) without torch.
inline plot::Matrix plain_matrix(const torch::Tensor& t) {
  return {t.size(0), t.size(1), plain_values(t)};
}

/// The greatest distance between two tensors' values.
inline double greatest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace vitrine
