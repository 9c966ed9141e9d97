#pragma once

#include <torch/types.h>

#include <string>
#include <string_view>

namespace vitrine {

/// The array that a .npy file of numpy holds: half, float, double, int32 or int64, in C or Fortran
/// order. `where` names it in errors. Whatever does not fit, its size included, throws an `Error`.
torch::Tensor parse_npy(std::string_view bytes, const std::string& where);

/// What stands in a .npy file before the data of a contiguous tensor.
std::string npy_header(const torch::Tensor& tensor, const std::string& where);

}  // namespace vitrine
