#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine {

/// The 1000 classes of ImageNet (ILSVRC 2012) in their usual order, that of their WordNet numbers:
/// 0 tench, ..., 999 toilet tissue.
const std::vector<std::string>& imagenet_names();

/// What classes are called in a file of weights that does not say it: ImageNet's if there are 1000,
/// else "class 0", "class 1", ...
std::vector<std::string> assumed_class_names(int64_t classes);

}  // namespace vitrine
