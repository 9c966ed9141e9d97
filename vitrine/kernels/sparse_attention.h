#pragma once

#include <cstdint>
#include <vector>

#include "vitrine/kernels/attention.h"
#include "vitrine/kernels/attention_plan.h"

namespace vitrine::kernels {

/// The vectors of a head, one per token, `stride` numbers apart.
template <typename T>
struct Vectors {
  T* values;
  int64_t stride;
};

/// One head of one sequence: keys and queries of one width, values of another.
template <typename T>
struct SparseHead {
  Vectors<const T> q, k, v;
  int64_t key_width, value_width;
  T scale;
  DropoutKey dropout;
};

/// One thread's buffers for a plan.
template <typename T>
class SparseScratch {
 public:
  SparseScratch(const AttentionPlan& plan, int64_t key_width, int64_t value_width);

  std::vector<T> scores, dropped, gradients;  // (queries, keys)
  std::vector<T> transposed;                  // keys or values of a tile as columns
  std::vector<T> keys, values;                // of a tile whose keys do not lie at equal distances
  std::vector<T> key_gradients, value_gradients;
};

/// Adds what the group's queries see in this pass: `out` holds the weighted values so far, `top`
/// and `sum` (by token) the largest score and the sum of exp(score - top). Starts from out = 0,
/// top = -infinity, sum = 0.
template <typename T>
void sparse_forward(const SparseHead<T>& head, const QueryGroup& group, Vectors<T> out, T* top,
                    T* sum, SparseScratch<T>& scratch);

/// Ends the forward pass: out becomes the weighted mean (0 for a token that sees none) and `top`
/// the logarithm of the sum of exp(score).
template <typename T>
void sparse_finish(int64_t tokens, int64_t value_width, Vectors<T> out, T* top, const T* sum);

/// Adds the group's contribution to the gradients. `log_sum` is what `sparse_finish` left in `top`;
/// `dot` holds, by token, the product of `out` and its gradient.
template <typename T>
void sparse_backward(const SparseHead<T>& head, const QueryGroup& group, Vectors<const T> d_out,
                     const T* log_sum, const T* dot, Vectors<T> dq, Vectors<T> dk, Vectors<T> dv,
                     SparseScratch<T>& scratch);

}  // namespace vitrine::kernels
