#pragma once

#include <cstdint>
#include <span>

namespace vitrine::kernels {

/// Rows of logits that fall into groups, with one right logit in each group.
template <typename T>
struct GroupedLogits {
  const T* logits;         // (rows, sum of groups)
  const int64_t* targets;  // (rows, groups): the right one within its group
  int64_t rows;
  std::span<const int64_t> groups;  // how many scores each has
  T smoothing;                      // fraction of a target that is spread over its group
};

/// The sum of the cross-entropies of all groups of all rows; `gradient` becomes its derivative by
/// the logits, times `factor`. Targets must lie within their groups.
double grouped_cross_entropy(const GroupedLogits<float>& in, float factor, float* gradient);
double grouped_cross_entropy(const GroupedLogits<double>& in, double factor, double* gradient);

}  // namespace vitrine::kernels
