#include "vitrine/data/dataset.h"

#include <algorithm>

#include "vitrine/core/error.h"

namespace vitrine {

std::vector<int64_t> class_counts(const Dataset& data) {
  std::vector<int64_t> counts(data.classes().size());
  for (int64_t i = 0; i < data.size(); ++i) ++counts[data.label(i)];
  return counts;
}

std::string split_name(Split split) {
  if (split == Split::Train) return "train";
  return split == Split::Validation ? "validation" : "test";
}

Split split_of_name(const std::string& name) {
  for (const auto split : {Split::Train, Split::Validation, Split::Test})
    if (split_name(split) == name) return split;
  fail_usage("data: split '{}' is not known (known: train, validation, test)", name);
}

void MemoryDataset::reserve(int64_t count) {
  pixels_.reserve(count * bytes());
  labels_.reserve(count);
}

void MemoryDataset::add(const uint8_t* pixels, int64_t label) {
  pixels_.insert(pixels_.end(), pixels, pixels + bytes());
  labels_.push_back(label);
}

void MemoryDataset::read(int64_t index, Image& image) const {
  check(index >= 0 && index < size(), "data: there is no example {} among {}", index, size());
  image.width = image.height = image_;
  image.channels = channels_;
  const auto* from = pixels_.data() + index * bytes();
  image.pixels.assign(from, from + bytes());
}

}  // namespace vitrine
