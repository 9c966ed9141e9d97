#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// y[i] = x[i] / (1 - p) with probability 1 - p, else 0. Element i of a block that starts at
/// `first` is decided by (key, first + i) alone, so threads may share the work in any way.
/// y may be x.
void dropout(const float* x, float* y, int64_t n, float p, uint64_t key, uint64_t first);
void dropout(const double* x, double* y, int64_t n, float p, uint64_t key, uint64_t first);

}  // namespace vitrine::kernels
