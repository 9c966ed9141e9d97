#pragma once

#include <string>
#include <string_view>

namespace vitrine {

/// The MD5 sum as 32 hexadecimal digits: official data sets publish theirs.
std::string md5(std::string_view bytes);

}  // namespace vitrine
