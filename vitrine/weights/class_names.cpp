#include "vitrine/weights/class_names.h"

#include <fmt/format.h>

#include <sstream>
#include <string_view>

namespace vitrine {

extern const std::string_view kImageNetNames;  // imagenet1k.txt

const std::vector<std::string>& imagenet_names() {
  static const auto names = [] {
    std::vector<std::string> lines;
    std::istringstream text{std::string(kImageNetNames)};
    for (std::string line; std::getline(text, line);)
      if (!line.empty()) lines.push_back(line);
    return lines;
  }();
  return names;
}

std::vector<std::string> assumed_class_names(int64_t classes) {
  if (classes == std::ssize(imagenet_names())) return imagenet_names();
  std::vector<std::string> names;
  for (int64_t i = 0; i < classes; ++i) names.push_back(fmt::format("class {}", i));
  return names;
}

}  // namespace vitrine
