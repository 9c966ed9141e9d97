#include "vitrine/data/cifar100.h"

#include "vitrine/core/error.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/config.h"
#include "vitrine/data/fetch.h"

namespace vitrine {
namespace {

constexpr int64_t kLabelBytes = 2;  // the superclass (of 20), then the class
constexpr int64_t kRecordBytes = kLabelBytes + 3 * kCifar10Side * kCifar10Side;

const std::vector<std::string>& class_list() {
  static const std::vector<std::string> names = {
      "apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
      "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
      "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
      "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
      "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
      "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
      "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
      "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
      "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
      "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
      "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
      "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
      "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
      "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
      "table",       "tank",          "telephone", "television", "tiger",        "tractor",
      "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
      "willow_tree", "wolf",          "woman",     "worm"};
  return names;
}

int64_t images_per_class(const std::string& file) { return file == "train.bin" ? 500 : 100; }

/// Throws unless the bytes are records of as many images of each class as the official file has.
void verify_cifar100(const std::string& name, const std::string& bytes, const std::string& place) {
  const auto each = images_per_class(name), classes = std::ssize(class_list()),
             expected = each * classes * kRecordBytes;
  check(std::ssize(bytes) == expected, "cifar100: {} of {} has {} bytes instead of {}", name, place,
        bytes.size(), expected);
  std::vector<int64_t> counts(256);
  for (int64_t at = 1; at < std::ssize(bytes); at += kRecordBytes)
    ++counts[static_cast<uint8_t>(bytes[at])];
  for (int64_t k = 0; k < classes; ++k)
    check(counts[k] == each, "cifar100: {} of {} has {} images of class {} ({}) instead of {}",
          name, place, counts[k], k, class_list()[k], each);
}

class Cifar100 : public DatasetOf<Cifar100> {
 public:
  std::optional<ImageTraits> images() const override {
    return ImageTraits{.side = kCifar10Side,
                       .channels = 3,
                       .mean = {0.5071, 0.4865, 0.4409},
                       .std = {0.2673, 0.2564, 0.2762}};
  }
  std::unique_ptr<Dataset> open(const DataConfig& config, Split split) const override {
    if (split == Split::Validation) return nullptr;
    const std::string name = split == Split::Test ? "test.bin" : "train.bin";
    const auto folder = data_root(config) / "cifar100";
    check(fs::exists(folder / name), "cifar100: {} is missing; run `vitrine data fetch cifar100`",
          (folder / name).string());
    const auto bytes = read_file(folder / name);
    verify_cifar100(name, bytes, folder.string());
    check_stored_sum(folder, name, bytes);
    auto data = std::make_unique<MemoryDataset>(kCifar10Side, 3, class_list());
    add_cifar_records(*data, bytes, kLabelBytes);
    return data;
  }
  std::string fetch(const DataConfig& config, const std::string& source) const override {
    return fetch_cifar100(data_root(config) / "cifar100", source);
  }
};

}  // namespace

DatasetEntry cifar100_dataset() {
  return {"CIFAR-100: 50,000 + 10,000 colour images of 32 x 32, 100 classes",
          std::make_shared<Cifar100>()};
}

std::string fetch_cifar100(const fs::path& folder, const std::string& source) {
  return fetch_files({.dataset = "cifar100",
                      .files = {"train.bin", "test.bin"},
                      .addresses = {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"},
                      .archive_md5 = "03b5dce01913d631647c71ecec9e9cb8",
                      .other_files = {},
                      .verify = verify_cifar100,
                      .verified = "sizes and images per class verified"},
                     folder, source);
}

}  // namespace vitrine
