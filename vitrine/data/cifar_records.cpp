#include "vitrine/data/cifar_records.h"

#include "vitrine/core/error.h"

namespace vitrine {

void add_cifar_records(MemoryDataset& data, const std::string& bytes, int64_t label_bytes) {
  constexpr auto kPlane = kCifar10Side * kCifar10Side;
  const auto record_bytes = label_bytes + 3 * kPlane;
  check(std::ssize(bytes) % record_bytes == 0, "cifar: {} bytes are no records of {}", bytes.size(),
        record_bytes);
  const auto* record = reinterpret_cast<const uint8_t*>(bytes.data());
  const auto* const end = record + bytes.size();
  std::vector<uint8_t> pixels(3 * kPlane);
  for (; record < end; record += record_bytes) {
    const auto* planes = record + label_bytes;
    for (int64_t p = 0; p < kPlane; ++p)
      for (int64_t c = 0; c < 3; ++c) pixels[3 * p + c] = planes[c * kPlane + p];
    const auto label = planes[-1];
    check(label < data.classes().size(), "cifar: label {} is none of the {} classes", label,
          data.classes().size());
    data.add(pixels.data(), label);
  }
}

}  // namespace vitrine
