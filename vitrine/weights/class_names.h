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

/// Whether the data's classes are the model's. Published weights may not name theirs: then data of
/// as many classes will do, but ImageNet's must be folders with the numbers of WordNet, whose order
/// is known.
bool are_same_classes(const std::vector<std::string>& data, const std::vector<std::string>& model);

}  // namespace vitrine
