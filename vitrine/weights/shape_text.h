#pragma once

#include <fmt/format.h>
#include <torch/types.h>

#include <string>

namespace vitrine {

/// "16x8"; "a number" for a tensor without dimensions.
inline std::string shape_text(at::IntArrayRef shape) {
  return shape.empty() ? "a number" : fmt::format("{}", fmt::join(shape, "x"));
}
inline std::string shape_text(const torch::Tensor& tensor) { return shape_text(tensor.sizes()); }

}  // namespace vitrine
