#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// One tensor of a safetensors file: `dtype` by its name there ("F32"), its bytes counted from the
/// start of the data.
struct StoredTensor {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

/// What stands before the data of a safetensors file: eight bytes of length, then JSON.
///
/// Our own files hold two metadata entries that are not the user's: `vitrine.xxh3`, the XXH3 of the
/// whole file with these digits as zeros, and `vitrine.format`. A flipped bit in the name of one
/// leaves the other, so that damage cannot pass our file off as a foreign one without checksum.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // in the order of their bytes, without gaps
  std::map<std::string, std::string> metadata;
  std::string checksum;    // 16 hex digits; "" in files of other tools
  size_t checksum_at = 0;  // where these digits stand in the file
};

/// Hex digits of the checksum.
constexpr size_t kChecksumDigits = 16;
/// Bytes before the JSON: its length.
constexpr uint64_t kLengthBytes = 8;

/// Bytes per element of a dtype that both sides know; 0 for any other.
uint64_t safetensors_dtype_bytes(std::string_view dtype);

/// Sorts the tensors so that each is aligned to its element size and sets their places.
void lay_out_safetensors(SafetensorsHeader& header, const fs::path& path);

/// The header's bytes with a checksum of zeros; sets `checksum_at`.
std::string write_safetensors_header(SafetensorsHeader& header, const fs::path& path);

/// How long the JSON is, from the first bytes of a file of `file_bytes`.
uint64_t safetensors_header_length(std::string_view first_bytes, uint64_t file_bytes,
                                   const fs::path& path);

/// Reads the header (length and JSON) of a file of `file_bytes`. Whatever does not fit, the file's
/// size included, throws an `Error` that names `path`.
SafetensorsHeader parse_safetensors_header(std::string_view bytes, uint64_t file_bytes,
                                           const fs::path& path);

}  // namespace vitrine
