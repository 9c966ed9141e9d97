#include "vitrine/data/tensor_batches.h"

#include <torch/torch.h>

namespace vitrine {

TensorBatches::TensorBatches(torch::Tensor inputs, torch::Tensor targets)
    : inputs_(std::move(inputs)), targets_(std::move(targets)) {}

Batch TensorBatches::load(const std::vector<int64_t>& indices, int64_t /*epoch*/) const {
  const auto chosen = torch::tensor(indices);
  return {inputs_.index_select(0, chosen), targets_.index_select(0, chosen)};
}

}  // namespace vitrine
