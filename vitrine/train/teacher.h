#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "vitrine/core/files.h"
#include "vitrine/data/batch.h"
#include "vitrine/train/config.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {

/// A trained classifier that a student learns from: `train.teacher` of a recipe.
class Teacher {
 public:
  /// `images`: how the student's images are prepared. Those that the teacher is asked about are
  /// normalised and resized as it was trained with.
  Teacher(LoadedCheckpoint checkpoint, const Preprocess& images, const torch::Device& device);

  /// Its logits, (B, N), for the student's images, (B, C, H, W): in evaluation mode, in float32 and
  /// without gradients.
  torch::Tensor logits(const torch::Tensor& images) const;
  /// The student's images as the teacher takes them.
  torch::Tensor view_of(const torch::Tensor& images) const;

  /// The XXH3 of all that decides its logits for an image.
  const std::string& checksum() const { return checksum_; }
  /// "resnet18, 4 classes; images resized to 224 x 224, normalised as it was trained with".
  std::string description() const;
  const torch::Device& device() const { return device_; }

 private:
  LoadedCheckpoint loaded_;
  torch::Device device_;
  int64_t side_;                 // of the student's images
  torch::Tensor scale_, shift_;  // (C, 1, 1): from one normalisation to the other; or undefined
  std::string checksum_;
};

/// The teacher that the recipe names, null if it names none. Throws if it does not classify the
/// data's images into the data's classes.
std::shared_ptr<const Teacher> open_teacher(const Recipe& recipe, const Splits& data,
                                            const std::string& device);

/// The splits with the teacher's logits beside each training image (`Batch::teacher`), for images
/// that no augmentation changes. They are computed once and kept in the folder `cache`; `say` hears
/// how long that took. Nothing after Ctrl-C.
std::optional<Splits> with_teacher_logits(const Recipe& recipe, const Splits& data,
                                          const Teacher& teacher, const fs::path& cache,
                                          const std::function<void(const std::string&)>& say);

}  // namespace vitrine
