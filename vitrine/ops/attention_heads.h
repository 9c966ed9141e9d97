#pragma once

#include <cstdint>

#include "vitrine/kernels/attention.h"

namespace vitrine {

/// Attention in B sequences with H heads each.
struct AttentionShape {
  int64_t B, H, queries, keys;
  int64_t width, value_width;  // of a query and a key; of a value
  double scale;                // of the scores
  double dropout = 0;          // on the attention weights
  uint64_t key = 0;            // of the dropout
};

/// A tensor (B, H, tokens, width) in memory of any layout whose last dimension lies side by side.
template <typename T>
struct Heads {
  T* values;
  int64_t batch_stride, head_stride, token_stride;

  /// The rows of one head from a token on.
  kernels::Rows<T> rows(int64_t b, int64_t h, int64_t token = 0) const {
    return {values + b * batch_stride + h * head_stride + token * token_stride, token_stride};
  }
};

/// out (B, H, queries, value_width) = dropout(softmax(scale q k^T)) v. The weights before dropout
/// are kept in `weights` (B, H, queries, keys) unless it is null.
template <typename T>
void forward_heads(const AttentionShape& s, const Heads<const T>& q, const Heads<const T>& k,
                   const Heads<const T>& v, T* weights, const Heads<T>& out);

/// Gradients of q, k and v, overwritten.
template <typename T>
void backward_heads(const AttentionShape& s, const Heads<const T>& q, const Heads<const T>& k,
                    const Heads<const T>& v, const T* weights, const Heads<const T>& d_out,
                    const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv);

}  // namespace vitrine
