#pragma once

#include <cstdint>
#include <string>

namespace vitrine {

/// "10,000".
inline std::string with_commas(int64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > (number < 0); at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

}  // namespace vitrine
