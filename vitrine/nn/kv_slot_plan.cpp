#include "vitrine/nn/kv_slot_plan.h"

#include <torch/torch.h>

#include <mutex>

#include "vitrine/core/error.h"

namespace vitrine {

KvSlotPlan::KvSlotPlan(const AttentionPattern& pattern, int64_t tokens) {
  check(pattern.causal,
        "sparse attention: the pattern is not causal, so tokens cannot be generated one by one");
  check(tokens > 0, "sparse attention: to generate, the number of tokens must be known, got {}",
        tokens);
  slot_.resize(tokens);
  std::vector<int64_t> last_use(tokens);
  for (int64_t j = 0; j < tokens; ++j) {
    last_use[j] = tokens - 1;
    while (last_use[j] > j && !pattern.allows(last_use[j], j)) --last_use[j];
  }
  std::vector<int64_t> free;
  std::vector<std::vector<int64_t>> ends(tokens);  // slots that come free after a token
  for (int64_t i = 0; i < tokens; ++i) {
    if (free.empty()) free.push_back(slots_++);
    slot_[i] = free.back();
    free.pop_back();
    ends[last_use[i]].push_back(slot_[i]);
    std::vector<int64_t> visible;
    for (int64_t j = 0; j <= i; ++j)
      if (pattern.allows(i, j)) visible.push_back(slot_[j]);
    visible_slots_.push_back(torch::tensor(visible, torch::kLong));
    free.insert(free.end(), ends[i].begin(), ends[i].end());
  }
}

std::shared_ptr<const KvSlotPlan> kv_slot_plan(const AttentionPattern& pattern, int64_t tokens) {
  struct SharedPlan {
    AttentionPattern pattern;
    std::weak_ptr<const KvSlotPlan> plan;
  };
  static std::mutex mutex;
  static std::vector<SharedPlan> shared;
  const std::scoped_lock lock(mutex);
  std::erase_if(shared, [](const SharedPlan& known) { return known.plan.expired(); });
  for (const auto& known : shared) {
    auto plan = known.plan.lock();
    if (plan && known.pattern == pattern && plan->tokens() == tokens) return plan;
  }
  auto plan = std::make_shared<const KvSlotPlan>(pattern, tokens);
  shared.push_back({pattern, plan});
  return plan;
}

}  // namespace vitrine
