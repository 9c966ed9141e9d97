#include "vitrine/data/cifar10.h"

#include "vitrine/core/error.h"
#include "vitrine/data/checksum.h"
#include "vitrine/data/config.h"

namespace vitrine {
namespace {

constexpr const char* kCifar10Remedy = "run `vitrine data fetch cifar10`";

fs::path cifar10_folder(const DataConfig& config) { return data_root(config) / "cifar10"; }

std::string read_verified(const fs::path& path, const std::string& sum) {
  check(fs::exists(path), "cifar10: {} is missing; {}", path.string(), kCifar10Remedy);
  auto bytes = read_file(path);
  constexpr auto kBytes = kCifar10Records * kCifar10RecordBytes;
  check(static_cast<int64_t>(bytes.size()) == kBytes, "cifar10: {} has {} bytes instead of {}; {}",
        path.string(), bytes.size(), kBytes, kCifar10Remedy);
  check(md5(bytes) == sum, "cifar10: {} is damaged (its md5 sum is not {}); {}", path.string(), sum,
        kCifar10Remedy);
  return bytes;
}

class Cifar10 : public DatasetOf<Cifar10> {
 public:
  std::optional<ImageTraits> images() const override {
    return ImageTraits{.side = kCifar10Side,
                       .channels = 3,
                       .mean = {0.4914, 0.4822, 0.4465},
                       .std = {0.2470, 0.2435, 0.2616}};
  }
  std::unique_ptr<Dataset> open(const DataConfig& config, Split split) const override {
    if (split == Split::Validation) return nullptr;
    const std::vector<std::string> classes = {"airplane", "automobile", "bird",  "cat",  "deer",
                                              "dog",      "frog",       "horse", "ship", "truck"};
    auto data = std::make_unique<MemoryDataset>(kCifar10Side, 3, classes);
    data->reserve(split == Split::Test ? kCifar10Records : 5 * kCifar10Records);
    for (const auto& [file, sum] : cifar10_batches())
      if ((file == "test_batch.bin") == (split == Split::Test))
        add_cifar_records(*data, read_verified(cifar10_folder(config) / file, sum),
                          /*label_bytes=*/1);
    return data;
  }
  // Thousands of images of each class: any cut is fair, and the cut of a seed is part of every
  // figure that was measured with it.
  bool stratified() const override { return false; }
  std::string fetch(const DataConfig& config, const std::string& source) const override {
    return fetch_cifar10(cifar10_folder(config), source);
  }
};

}  // namespace

const std::array<Cifar10Batch, 6>& cifar10_batches() {
  static const std::array<Cifar10Batch, 6> batches = {{
      {"data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25"},
      {"data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692"},
      {"data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421"},
      {"data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb"},
      {"data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d"},
      {"test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d"},
  }};
  return batches;
}

DatasetEntry cifar10_dataset() {
  return {"CIFAR-10: 50,000 + 10,000 colour images of 32 x 32, 10 classes",
          std::make_shared<Cifar10>()};
}

}  // namespace vitrine
