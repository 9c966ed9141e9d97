#pragma once

#include <torch/types.h>

#include <string>
#include <string_view>

namespace vitrine {

/// The array that a .npy file of numpy holds: half, float, double, int32, int64 or (as raw data of
/// two bytes) bfloat16, in C or Fortran order. `where` names it in errors. Whatever does not fit,
/// its size included, throws an `Error`.
torch::Tensor parse_npy(std::string_view bytes, const std::string& where);

/// The same without numbers, on the meta device, from the beginning of such a file alone; so
/// whether the size fits is not checked.
torch::Tensor parse_npy_shape(std::string_view bytes, const std::string& where);
/// A file's first bytes that are enough for `parse_npy_shape`.
inline constexpr size_t kNpyHead = 1 << 17;

/// What stands in a .npy file before the data of a contiguous tensor.
std::string npy_header(const torch::Tensor& tensor, const std::string& where);

}  // namespace vitrine
