#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vitrine/core/image.h"

namespace vitrine {

/// An image as stored and the number of its class.
struct Example {
  Image image;
  int64_t label = 0;
};

/// Labelled images as stored, before any transform. All functions may be called from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  virtual int64_t label(int64_t index) const = 0;
  /// Reads an image into `image`, whose memory is used again.
  virtual void read(int64_t index, Image& image) const = 0;
  /// The same, or a smaller version whose short side still has `enough` pixels, if that is quicker.
  virtual void read_smaller(int64_t index, int64_t /*enough*/, Image& image) const {
    read(index, image);
  }
  /// The file of an image that has one of its own, else nothing.
  virtual std::string file(int64_t /*index*/) const { return {}; }

  Example get(int64_t index) const {
    Example example;
    read(index, example.image);
    example.label = label(index);
    return example;
  }
};

/// How many examples each class has.
std::vector<int64_t> class_counts(const Dataset& data);

/// The splits of a data set.
enum class Split { Train, Validation, Test };

std::string split_name(Split split);
/// The split called "train", "validation" or "test".
Split split_of_name(const std::string& name);

/// Images of one size held in memory.
class MemoryDataset : public Dataset {
 public:
  MemoryDataset(int64_t image, int64_t channels, std::vector<std::string> classes)
      : image_(image), channels_(channels), classes_(std::move(classes)) {}

  /// Makes room for this many images.
  void reserve(int64_t count);
  /// Adds an image: `image * image * channels` bytes, interleaved.
  void add(const uint8_t* pixels, int64_t label);

  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(int64_t index) const override { return labels_.at(index); }
  void read(int64_t index, Image& image) const override;

 private:
  int64_t bytes() const { return image_ * image_ * channels_; }

  int64_t image_, channels_;
  std::vector<std::string> classes_;
  std::vector<uint8_t> pixels_;
  std::vector<int64_t> labels_;
};

/// Some examples of another data set, in the given order.
class Subset : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> whole, std::vector<int64_t> indices)
      : whole_(std::move(whole)), indices_(std::move(indices)) {}

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  const std::vector<std::string>& classes() const override { return whole_->classes(); }
  int64_t label(int64_t index) const override { return whole_->label(indices_.at(index)); }
  void read(int64_t index, Image& image) const override { whole_->read(indices_.at(index), image); }
  void read_smaller(int64_t index, int64_t enough, Image& image) const override {
    whole_->read_smaller(indices_.at(index), enough, image);
  }
  std::string file(int64_t index) const override { return whole_->file(indices_.at(index)); }

 private:
  std::shared_ptr<const Dataset> whole_;
  std::vector<int64_t> indices_;
};

}  // namespace vitrine
