#pragma once

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>

#include "vitrine/kernels/packed_panels.h"

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
inline constexpr int64_t kTasksPerPass = 4;  // their rows stay in a cache

/// Calls `product(panel, first, count)` for all M rows and the panels of n outputs, of which each
/// sums k products, at most kRowsPerTask rows at a time: some rows pass one panel after the other,
/// which stays in a cache meanwhile, then the next rows.
template <typename Product>
void for_all_panels(int64_t M, int64_t n, int64_t k, const kernels::PackedLayout& layout,
                    const Product& product) {
  const auto blocks = (M + kRowsPerTask - 1) / kRowsPerTask, panels = layout.panels(n);
  const auto work = std::min(M, kRowsPerTask) * layout.columns * k;
  at::parallel_for(
      0, panels * blocks, items_per_task(kMultiplyAddsPerTask, work),
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const auto pass = task / (panels * kTasksPerPass) * kTasksPerPass;  // its first block
          const auto inside = std::min(kTasksPerPass, blocks - pass), rest = task - pass * panels;
          const auto first = (pass + rest % inside) * kRowsPerTask;
          product(rest / inside, first, std::min(kRowsPerTask, M - first));
        }
      });
}

}  // namespace vitrine
