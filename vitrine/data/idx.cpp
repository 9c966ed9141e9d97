#include "vitrine/data/idx.h"

#include "vitrine/core/error.h"

namespace vitrine {

std::string idx_values(const std::string& file, const std::vector<int64_t>& shape,
                       const std::string& name) {
  const size_t header = 4 + 4 * shape.size();
  int64_t values = 1;
  for (const auto length : shape) values *= length;
  check(file.size() == header + values, "{} has {} bytes instead of {}", name, file.size(),
        header + values);
  check(file[2] == 8 && static_cast<size_t>(file[3]) == shape.size(),
        "{} is not an IDX file of bytes in {} dimensions", name, shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    uint32_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | static_cast<uint8_t>(file[4 + 4 * d + i]);
    check(length == shape[d], "{} has length {} instead of {}", name, length, shape[d]);
  }
  return file.substr(header);
}

std::unique_ptr<Dataset> idx_dataset(const std::string& images, const std::string& labels,
                                     int64_t count, int64_t side, std::vector<std::string> classes,
                                     const std::string& name) {
  const auto pixels = idx_values(images, {count, side, side}, name + " (images)"),
             label_bytes = idx_values(labels, {count}, name + " (labels)");
  auto data = std::make_unique<MemoryDataset>(side, 1, std::move(classes));
  data->reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<uint8_t>(label_bytes[i]);
    check(label < data->classes().size(), "{} (labels): label {} at {} is none of the {} classes",
          name, label, i, data->classes().size());
    data->add(reinterpret_cast<const uint8_t*>(pixels.data()) + i * side * side, label);
  }
  return data;
}

}  // namespace vitrine
