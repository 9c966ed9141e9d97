#include "vitrine/data/byte_sequences.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"
#include "vitrine/core/random.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/parts.h"

namespace vitrine {
namespace {

constexpr uint64_t kShiftKey = 0x73686966;  // apart from the keys of examples and splits

Batch batch_of(const torch::Tensor& bytes) { return {bytes, bytes}; }

class ImageBytes : public BatchSource {
 public:
  explicit ImageBytes(std::shared_ptr<const Dataset> images) : images_(std::move(images)) {}

  int64_t size() const override { return images_->size(); }
  Batch load(const std::vector<int64_t>& indices, int64_t /*epoch*/) const override {
    const int64_t length = kCifar10RecordBytes - 1;
    auto bytes = torch::empty({std::ssize(indices), length}, torch::kLong);
    auto* out = bytes.data_ptr<int64_t>();
    Image image;
    for (const auto index : indices) {
      images_->read(index, image);
      out = std::copy(image.pixels.begin(), image.pixels.end(), out);
    }
    return batch_of(bytes);
  }

 private:
  std::shared_ptr<const Dataset> images_;
};

/// Consecutive sequences of one length from a text.
class TextBytes : public BatchSource {
 public:
  TextBytes(std::string text, int64_t length, uint64_t seed)
      : text_(std::move(text)), length_(length), seed_(seed) {}

  int64_t size() const override { return std::ssize(text_) / length_; }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override {
    auto bytes = torch::empty({std::ssize(indices), length_}, torch::kLong);
    auto* out = bytes.data_ptr<int64_t>();
    const auto shift = shift_of(epoch);
    for (const auto index : indices) {
      const auto last = std::ssize(text_) - length_;  // where a sequence can start
      const auto first = text_.begin() + std::min(index * length_ + shift, last);
      out = std::transform(first, first + length_, out,
                           [](char c) { return static_cast<uint8_t>(c); });
    }
    return batch_of(bytes);
  }

 private:
  /// How far the cuts move in an epoch.
  int64_t shift_of(int64_t epoch) const {
    if (epoch < 0) return 0;
    Random random{seed_, kShiftKey, static_cast<uint64_t>(epoch)};
    return random.below(length_);
  }

  std::string text_;
  int64_t length_;
  uint64_t seed_;
};

Splits open_cifar10_bytes(const DataConfig& config, uint64_t seed) {
  check(config.augment == AugmentConfig{} && config.image == 0,
        "cifar10_bytes: data.augment and data.image ({}) must stay as they are by default: the "
        "bytes of pictures are learned unchanged",
        config.image);
  auto pictures = config;
  pictures.dataset = "cifar10";
  pictures.mean = pictures.std = {};  // bytes stay as they are
  const auto parts = open_parts(pictures, seed);
  Splits splits;
  splits.task = Task::NextToken;
  splits.vocabulary = kByteValues;
  splits.image_layout = ImageLayout{kCifar10Side, kCifar10Side, 3};
  splits.train = std::make_unique<ImageBytes>(parts.train);
  splits.validation = std::make_unique<ImageBytes>(parts.validation);
  splits.test = std::make_unique<ImageBytes>(parts.test);
  return splits;
}

Splits open_bytes(const DataConfig& config, uint64_t seed) {
  check(!config.folder.empty(), "bytes: data.folder is empty; set it to the file to learn from");
  const auto text = read_file(config.folder);
  const auto size = std::ssize(text);
  const auto share = static_cast<int64_t>(config.validation * static_cast<double>(size));
  check(share >= config.length && size - 2 * share >= config.length,
        "bytes: '{}' has {} bytes: too few for sequences of {} in training and, with "
        "data.validation {}, in validation and test",
        config.folder, size, config.length, config.validation);
  const auto part = [&](int64_t first, int64_t count) {
    return std::make_unique<TextBytes>(text.substr(first, count), config.length, seed);
  };
  Splits splits;
  splits.task = Task::NextToken;
  splits.vocabulary = kByteValues;
  const auto most = config.limit > 0 ? config.limit * config.length : size;
  splits.train = part(0, std::min(size - 2 * share, most));
  splits.validation = part(size - 2 * share, share);
  splits.test = part(size - share, share);
  return splits;
}

}  // namespace

DatasetEntry cifar10_bytes_entry() {
  auto entry =
      built_in_entry("the pictures of CIFAR-10 as sequences of 3072 bytes", open_cifar10_bytes);
  entry.fetch = [](const DataConfig& config, const std::string& source) {
    return datasets().get("cifar10").fetch(config, source);
  };
  return entry;
}

DatasetEntry bytes_entry() {
  auto entry = built_in_entry(
      "any file as sequences of bytes: data.folder names it, data.length cuts it", open_bytes);
  entry.fetch = [](const DataConfig&, const std::string&) {
    return std::string("bytes: reads the file of data.folder, nothing to fetch");
  };
  return entry;
}

}  // namespace vitrine
