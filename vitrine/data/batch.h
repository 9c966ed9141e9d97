#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/image.h"
#include "vitrine/core/task.h"
#include "vitrine/data/dataset.h"
#include "vitrine/data/palette.h"

namespace vitrine {

/// What a model is fed and what it should answer.
struct Batch {
  // Images: (B, C, H, W) float, or in the colours of a palette (B, H * W) int64; sums: (B, 4) int64
  // digits; waves: (B, T) float; sentences: (B, T) int64 words.
  torch::Tensor inputs;
  torch::Tensor targets;  // as the Task says
  torch::Tensor
      teacher{};  // (B, N), a teacher's logits where they are known before (train/teacher.h)

  int64_t size() const { return inputs.size(0); }
  Batch to(const torch::Device& device) const {
    return {inputs.to(device), targets.to(device),
            teacher.defined() ? teacher.to(device) : teacher};
  }
};

/// Examples that can be fetched in any order, from any thread. `load` is pure: the same
/// (indices, epoch) always give the same bits. Epoch -1 means "as they are, no augmentation".
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual int64_t size() const = 0;
  virtual Batch load(const std::vector<int64_t>& indices, int64_t epoch) const = 0;
};

/// The three splits of a data set, as a recipe has them.
struct Splits {
  Task task = Task::Classes;
  std::shared_ptr<BatchSource> train{}, validation{}, test{};
  std::vector<std::string> classes{};   // with Task::NextToken the words; empty for bytes, colours
  std::vector<int64_t> class_counts{};  // with Task::Classes: training examples of each class
  int64_t vocabulary = 0;               // with Task::NextToken: how many tokens there are
  std::optional<ImageLayout> image_layout{};  // of tokens that are the bytes of images
  std::optional<Palette> palette{};           // of tokens that are colours

  std::shared_ptr<BatchSource>& get(Split split) {
    return split == Split::Train ? train : split == Split::Validation ? validation : test;
  }
};

}  // namespace vitrine
