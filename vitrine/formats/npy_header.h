#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// What a .npy file of numpy says of its array.
struct NpyHeader {
  std::string dtype;  // one that is known: "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// An array before its numbers are laid out.
struct NpyArray {
  NpyHeader header;
  uint64_t bytes = 0;     // that the shape needs
  std::string_view data;  // what follows the header
};

/// Reads the header of a .npy file, which errors call `where`; whether the data are as many as the
/// shape needs is left to `check_npy_size`.
NpyArray split_npy(std::string_view bytes, const std::string& where);

/// Throws unless the data are exactly the array.
void check_npy_size(const NpyArray& array, const std::string& where);

}  // namespace vitrine
