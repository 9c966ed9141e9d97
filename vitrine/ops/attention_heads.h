#pragma once

#include <torch/types.h>

#include <cstdint>

#include "vitrine/core/precision.h"
#include "vitrine/kernels/attention.h"

namespace vitrine {

/// Attention in B sequences with H heads each.
struct AttentionShape {
  int64_t B, H;
  kernels::HeadShape head;
  double scale;        // of the scores
  double dropout = 0;  // on the attention weights
  uint64_t key = 0;    // of the dropout
  kernels::Factors factors = kernels::Factors::Full;
  bool causal = false;  // a query sees the keys up to its own token
};

/// What products of attention in this precision multiply: bf16 numbers if the processor gains by
/// it.
kernels::Factors attention_factors(Precision precision);

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

/// Memory for what the forward pass of so many heads keeps for the backward pass: (heads, queries,
/// kept per query).
torch::Tensor empty_kept(int64_t heads, const kernels::HeadShape& shape, kernels::Factors factors,
                         const torch::TensorOptions& options);

/// out (B, H, queries, value_width) = dropout(softmax(scale q k^T)) v. `kept` is for
/// `backward_heads`; null if none follows.
template <typename T>
void forward_heads(const AttentionShape& s, const Heads<const T>& q, const Heads<const T>& k,
                   const Heads<const T>& v, T* kept, const Heads<T>& out);

/// Gradients of q, k and v, overwritten.
template <typename T>
void backward_heads(const AttentionShape& s, const Heads<const T>& q, const Heads<const T>& k,
                    const Heads<const T>& v, const T* kept, const Heads<const T>& d_out,
                    const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv);

}  // namespace vitrine
