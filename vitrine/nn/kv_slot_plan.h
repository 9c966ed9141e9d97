#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "vitrine/core/attention_pattern.h"

namespace vitrine {

/// Where the KV cache of a causal pattern holds which token, while a sequence of `tokens` tokens is
/// generated: a slot is used again as soon as no later token may attend to what it holds.
class KvSlotPlan {
 public:
  KvSlotPlan(const AttentionPattern& pattern, int64_t tokens);

  int64_t tokens() const { return static_cast<int64_t>(slot_.size()); }
  /// A cache of this many slots is enough.
  int64_t slots() const { return slots_; }
  /// The slot that takes the key and the value of `token`.
  int64_t slot(int64_t token) const { return slot_[token]; }
  /// The slots of the tokens that `token` attends to: int64.
  const torch::Tensor& visible_slots(int64_t token) const { return visible_slots_[token]; }

 private:
  int64_t slots_ = 0;
  std::vector<int64_t> slot_;
  std::vector<torch::Tensor> visible_slots_;
};

/// The plan of a pattern and length, which all layers share while one of them holds it.
std::shared_ptr<const KvSlotPlan> kv_slot_plan(const AttentionPattern& pattern, int64_t tokens);

}  // namespace vitrine
