#pragma once

#include <torch/types.h>

#include <algorithm>

#include "vitrine/kernels/packed_panels.h"
#include "vitrine/ops/task_queue.h"

namespace vitrine {

/// How many items, of which each is so much work, a thread takes at least.
inline int64_t items_per_task(int64_t work, int64_t work_of_one) {
  return std::max<int64_t>(1, work / std::max<int64_t>(1, work_of_one));
}

// Less is not worth a thread.
inline constexpr int64_t kConversionsPerTask = 1 << 15, kMultiplyAddsPerTask = 1 << 18;

/// A bias (n) with a number for every column of the panels. An undefined one stays so.
inline torch::Tensor padded_bias(const torch::Tensor& bias, int64_t n,
                                 const kernels::PackedLayout& layout) {
  const auto columns = layout.panels(n) * layout.columns;
  if (!bias.defined()) return bias;
  return columns == n ? bias.contiguous() : torch::constant_pad_nd(bias, {0, columns - n});
}

inline const float* values_or_null(const torch::Tensor& t) {
  return t.defined() ? t.data_ptr<float>() : nullptr;
}

inline constexpr int64_t kRowsPerTask = 48;  // a multiple of every kernel's tile
/// The order in which the blocks of kRowsPerTask rows meet the panels: some blocks, whose rows stay
/// in a cache, pass one panel after the other, which stays in a cache meanwhile, then the next
/// ones.
class PanelOrder {
 public:
  static constexpr int64_t kBlocksPerPass = 4;

  PanelOrder(int64_t rows, int64_t panels)
      : blocks_((rows + kRowsPerTask - 1) / kRowsPerTask),
        panels_(panels),
        passes_(std::max<int64_t>(1, blocks_ / kBlocksPerPass)) {}

  int64_t tasks() const { return panels_ * blocks_; }

  struct Task {
    int64_t panel, block;
  };
  Task operator[](int64_t task) const {
    const auto pass = ((task / panels_ + 1) * passes_ - 1) / blocks_;
    const auto first = pass * blocks_ / passes_, end = (pass + 1) * blocks_ / passes_;
    const auto rest = task - first * panels_, inside = end - first;
    return {rest / inside, first + rest % inside};
  }

 private:
  int64_t blocks_, panels_, passes_;
};

/// Calls `product(panel, first, count)` for all M rows and the panels of n outputs, of which each
/// sums k products, at most kRowsPerTask rows at a time.
template <typename Product>
void for_all_panels(int64_t M, int64_t n, int64_t k, const kernels::PackedLayout& layout,
                    const Product& product) {
  if (M == 0) return;
  constexpr int64_t kClaims = 8;  // of a thread, at least; few, as neighbours share what they read
  const PanelOrder order(M, layout.panels(n));
  const auto at_once = std::clamp<int64_t>(order.tasks() / (kClaims * at::get_num_threads()), 1,
                                           PanelOrder::kBlocksPerPass);
  const auto work = std::min(M, kRowsPerTask) * layout.columns * k;
  TaskQueue(order.tasks(), at_once, items_per_task(kMultiplyAddsPerTask, work))
      .run([&](const auto& for_tasks) {
        for_tasks([&](int64_t task) {
          const auto [panel, block] = order[task];
          const auto first = block * kRowsPerTask;
          product(panel, first, std::min(kRowsPerTask, M - first));
        });
      });
}

}  // namespace vitrine
