#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "vitrine/nn/block.h"
#include "vitrine/nn/kv_slot_plan.h"

namespace vitrine {

class SparseBlockImpl;

/// Neighbouring heads that follow the same pattern, and the keys and values that they hold.
struct HeadCache {
  int64_t first, count;
  std::shared_ptr<const KvSlotPlan> plan;
  torch::Tensor keys, values;  // (B, count, slots, width)
};

/// What a layer holds of the tokens so far.
struct SparseKvCache : BlockCache {
  std::vector<HeadCache> kv_cache;
  int64_t position = 0;  // of the next token

  int64_t bytes() const override;
};

/// Whether `packed_sparse_step` can compute the block's step: its weights are packed, and x is in
/// fp32 on the CPU.
bool has_packed_step(const SparseBlockImpl& block, const torch::Tensor& x);

/// The block's step, (B, C) -> (B, C), by kernels alone: a thread takes some of the sequences
/// through the whole block. The result of a sequence does not depend on the others.
torch::Tensor packed_sparse_step(const SparseBlockImpl& block, const torch::Tensor& x,
                                 SparseKvCache& cache, int64_t position);

}  // namespace vitrine
