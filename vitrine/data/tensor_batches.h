#pragma once

#include "vitrine/data/batch.h"

namespace vitrine {

/// Examples that are the rows of two tensors, the same in every epoch.
class TensorBatches : public BatchSource {
 public:
  TensorBatches(torch::Tensor inputs, torch::Tensor targets);
  int64_t size() const override { return inputs_.size(0); }
  Batch load(const std::vector<int64_t>& indices, int64_t epoch) const override;

 private:
  torch::Tensor inputs_, targets_;
};

}  // namespace vitrine
