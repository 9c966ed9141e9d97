#include "vitrine/studies/addition/text.h"

#include <cmath>

namespace vitrine {

double rounded(double value) { return std::round(100 * value) / 100 + 0.0; }

std::string with_commas(int64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > (number < 0); at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

}  // namespace vitrine
