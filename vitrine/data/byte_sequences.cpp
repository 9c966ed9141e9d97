#include "vitrine/data/byte_sequences.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/core/files.h"
#include "vitrine/core/random.h"
#include "vitrine/data/batch.h"
#include "vitrine/data/cifar10.h"
#include "vitrine/data/image_splits.h"

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

class Cifar10Bytes : public DatasetOf<Cifar10Bytes> {
 public:
  Splits splits(const DataConfig& config, uint64_t seed) const override {
    auto images = config;
    images.dataset.choose("cifar10");
    const auto image_splits = open_image_splits(images, seed);
    Splits splits;
    splits.task = Task::NextToken;
    splits.vocabulary = kByteValues;
    splits.image_layout = ImageLayout{kCifar10Side, kCifar10Side, 3};
    splits.train = std::make_unique<ImageBytes>(image_splits.train);
    splits.validation = std::make_unique<ImageBytes>(image_splits.validation);
    splits.test = std::make_unique<ImageBytes>(image_splits.test);
    return splits;
  }
  std::string fetch(const DataConfig& config, const std::string& source) const override {
    return DatasetBlueprint::make("cifar10")->fetch(config, source);
  }
};

struct ByteSettings {
  std::string file;
  int64_t length = 1024;

  void visit(Fields& f) {
    f.path("file", file, "the file to learn from");
    f("length", length, "sequence length in bytes");
  }
  void validate() const { check(length >= 2, "bytes: length {} is less than 2", length); }
};

class ByteData : public DatasetOf<ByteData, ByteSettings> {
 public:
  Splits splits(const DataConfig& config, uint64_t seed) const override {
    const auto& [file, length] = settings;
    check(!file.empty(),
          "bytes: no file is given; set data.dataset.file to the file to learn from");
    const auto text = read_file(file);
    const auto size = std::ssize(text);
    const auto share = static_cast<int64_t>(config.validation * static_cast<double>(size));
    check(share >= length && size - 2 * share >= length,
          "bytes: '{}' has {} bytes: too few for sequences of {} in training and, with "
          "data.validation {}, in validation and test",
          file, size, length, config.validation);
    const auto part = [&, length = length](int64_t first, int64_t count) {
      return std::make_unique<TextBytes>(text.substr(first, count), length, seed);
    };
    Splits splits;
    splits.task = Task::NextToken;
    splits.vocabulary = kByteValues;
    const auto most = config.limit > 0 ? config.limit * length : size;
    splits.train = part(0, std::min(size - 2 * share, most));
    splits.validation = part(size - 2 * share, share);
    splits.test = part(size - share, share);
    return splits;
  }
  std::string fetch(const DataConfig&, const std::string&) const override {
    return "bytes: reads the file of data.dataset.file, nothing to fetch";
  }
};

}  // namespace

DatasetEntry cifar10_bytes_dataset() {
  return {"the images of CIFAR-10 as sequences of 3072 bytes", std::make_shared<Cifar10Bytes>()};
}

DatasetEntry bytes_dataset() {
  return {"any file as byte sequences (file=FILE, length = sequence length)",
          std::make_shared<ByteData>()};
}

}  // namespace vitrine
