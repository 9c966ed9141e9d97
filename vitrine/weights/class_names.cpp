#include "vitrine/weights/class_names.h"

#include <fmt/format.h>

#include <algorithm>
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

bool are_same_classes(const std::vector<std::string>& data, const std::vector<std::string>& model) {
  if (data == model) return true;
  if (data.size() != model.size() || model != assumed_class_names(std::ssize(model))) return false;
  const auto is_wordnet = [](const std::string& name) {
    return name.size() == 9 && name[0] == 'n' &&
           name.find_first_not_of("0123456789", 1) == name.npos;
  };
  return model != imagenet_names() || std::all_of(data.begin(), data.end(), is_wordnet);
}

}  // namespace vitrine
