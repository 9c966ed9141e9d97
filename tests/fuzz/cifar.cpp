// CIFAR's records; the first byte says whether of CIFAR-10, CIFAR-100, or of an IDX file.
#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/data/cifar_records.h"
#include "vitrine/data/idx.h"

namespace vitrine::fuzz {

void cifar(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::string file(bytes.substr(1));
  if (bytes[0] == 'i') {
    constexpr int64_t kCount = 2, kSide = 3;
    const auto labels = std::string("\0\0\x8\1\0\0\0\2", 8) + file.substr(0, kCount);
    must(idx_dataset(file, labels, kCount, kSide, {"a", "b"}, "input")->size() == kCount,
         "not as many images as labels");
    return;
  }
  MemoryDataset data(kCifar10Side, 3, std::vector<std::string>(10, "class"));
  add_cifar_records(data, file, bytes[0] == 'h' ? 2 : 1);
  for (int64_t i = 0; i < data.size(); ++i)
    must(data.label(i) < 10 && data.get(i).image.width == kCifar10Side, "no class or image");
}

}  // namespace vitrine::fuzz
