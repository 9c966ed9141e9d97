#pragma once

#include <torch/types.h>

#include <vector>

#include "vitrine/core/attention_pattern.h"
#include "vitrine/kernels/sparse_attention.h"

// What the forms of sparse attention have in common: fp32 and double, bf16.
namespace vitrine {

/// Throws unless q, k (B, T, H, D) and v (B, T, H, E) go together and dropout is a probability.
void check_sparse(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                  double dropout);

/// A pattern as an autograd function can keep it, and back.
std::vector<int64_t> numbers_of(const AttentionPattern& pattern);
AttentionPattern pattern_of(const std::vector<int64_t>& numbers);

/// The last dimension without gaps; the others may lie anywhere.
inline torch::Tensor rows_packed(const torch::Tensor& x) {
  return x.stride(3) == 1 ? x : x.contiguous();
}

/// The vectors of head `index` (batch-major) of a (B, T, H, D) tensor.
template <typename T>
kernels::Vectors<T> vectors_of(const torch::Tensor& x, int64_t index) {
  const int64_t b = index / x.size(2), h = index % x.size(2);
  auto* first = x.data_ptr<std::remove_const_t<T>>() + b * x.stride(0) + h * x.stride(2);
  return {first, x.stride(1)};
}

}  // namespace vitrine
