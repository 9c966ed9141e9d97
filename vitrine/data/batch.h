#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace vitrine {

/// What a model is fed and what it should answer.
struct Batch {
  torch::Tensor inputs;   // images: (B, C, H, W) float
  torch::Tensor targets;  // classes: (B) int64; or (B, N) float shares after mixup and cutmix
  int64_t size() const { return inputs.size(0); }
};

/// Examples that can be fetched in any order, from any thread. `load` is pure: the same
/// (indices, epoch) always give the same bits. Epoch -1 means "as they are, no augmentation".
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual int64_t size() const = 0;
  virtual Batch load(const std::vector<int64_t>& indices, int64_t epoch) const = 0;
};

/// The three parts of a data set, as a recipe splits it.
struct Splits {
  std::unique_ptr<BatchSource> train, validation, test;
  std::vector<std::string> classes;
};

}  // namespace vitrine
