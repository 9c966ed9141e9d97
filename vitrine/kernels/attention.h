#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// Which attention weights survive dropout: decided by (key, row, column) alone.
struct DropoutKey {
  float probability = 0;
  uint64_t key = 0;
};

/// One head of one sequence. Rows of q, k and v are `width` numbers, `stride` apart.
template <typename T>
struct Head {
  const T* q;
  const T* k;
  const T* v;
  int64_t tokens, width, stride;
  T scale;
  DropoutKey dropout;
};

/// weights = softmax(scale q k^T), (tokens, tokens); out = dropout(weights) v, rows `out_stride`
/// apart. `scratch` holds tokens * tokens numbers and is used with dropout only.
template <typename T>
void attention_forward(const Head<T>& head, T* weights, T* out, int64_t out_stride, T* scratch);

/// Gradients of q, k and v (rows `stride` apart, overwritten) from that of `out`.
/// `scratch` holds 2 * tokens * tokens numbers.
template <typename T>
void attention_backward(const Head<T>& head, const T* weights, const T* d_out, int64_t out_stride,
                        T* dq, T* dk, T* dv, T* scratch);

}  // namespace vitrine::kernels
