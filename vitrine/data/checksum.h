#pragma once

#include <string>
#include <string_view>

#include "vitrine/core/files.h"

namespace vitrine {

/// The MD5 sum as 32 hexadecimal digits: official data sets publish theirs.
std::string md5(std::string_view bytes);

/// The SHA-256 sum as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);
/// The same of a file, which is read piece by piece.
std::string sha256_of_file(const fs::path& path);

}  // namespace vitrine
