#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"
#include "vitrine/core/precision.h"

namespace vitrine {

struct Prediction {
  std::string label;
  int64_t index = 0;  // of the class
  double probability = 0;
};

/// What became of one of many files.
struct FilePredictions {
  fs::path file;
  std::vector<Prediction> predictions{};
  std::string error{};  // why there are no predictions; empty if there are
};

/// A trained image classifier. May be used from several threads at once.
class Classifier {
 public:
  /// Loads a run folder (its best checkpoint) or a .safetensors file. bf16 and int8 are for
  /// networks with transformer blocks, on the CPU.
  static Classifier load(const fs::path& run_or_checkpoint, const std::string& device = "cpu",
                         Precision precision = Precision::Float32);
  Classifier(Classifier&&) noexcept;
  Classifier& operator=(Classifier&&) noexcept;
  ~Classifier();

  /// The `k` likeliest classes, likeliest first; fewer if the network knows fewer.
  std::vector<Prediction> classify(const Image& image, int64_t k = 5) const;
  /// The same for a JPEG, PNG or WebP file.
  std::vector<Prediction> classify_file(const fs::path& path, int64_t k = 5) const;
  /// The same for several images at once, in their order.
  std::vector<std::vector<Prediction>> classify_batch(const std::vector<Image>& images,
                                                      int64_t k = 5) const;

  /// The same for many files, read by other threads while the network computes, in batches. Each
  /// is handed to `take`, in order; a file that cannot be read does not stop the others.
  void classify_files(const std::vector<fs::path>& files, int64_t k,
                      const std::function<void(const FilePredictions&)>& take) const;

  /// The network's answer before the softmax: one number per class.
  std::vector<float> logits(const Image& image) const;
  std::vector<std::vector<float>> logits_batch(const std::vector<Image>& images) const;
  /// What the head reads: a vector that describes the image, alike for images that the network
  /// takes for alike.
  std::vector<float> features(const Image& image) const;
  std::vector<std::vector<float>> features_batch(const std::vector<Image>& images) const;

  const std::vector<std::string>& classes() const;

 private:
  struct Loaded;
  explicit Classifier(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace vitrine
