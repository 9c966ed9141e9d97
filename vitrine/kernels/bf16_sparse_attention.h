#pragma once

#include "vitrine/kernels/sparse_attention.h"

// Sparse attention whose factors are in bf16, two numbers of a token in a word (`round_row`), while
// sums, softmax and gradients are in fp32.
namespace vitrine::kernels {

/// One head of one sequence in bf16. Strides are in words.
struct Bf16SparseHead {
  Vectors<const int32_t> q, k, v;
  int64_t key_width, value_width;  // in numbers
  float scale;
  DropoutKey dropout;
};

/// One thread's buffers for a plan.
class Bf16SparseScratch {
 public:
  Bf16SparseScratch(const AttentionPlan& plan, int64_t key_width, int64_t value_width);

  const int64_t columns;                           // of a row of cells, at least its keys
  std::vector<float> scores, gradients;            // (queries, columns)
  std::vector<int32_t> weight_words, score_words;  // (queries, columns / 2)
  std::vector<float> dropped;                      // (columns)
  std::vector<int32_t> pairs;      // of queries for each key: (queries / 2, columns)
  std::vector<int32_t> by_column;  // keys or values of a tile as columns: (words, columns)
  std::vector<int32_t> by_pair;    // pairs of vectors: (pairs, width)
  // Of a tile whose keys do not lie at equal distances:
  std::vector<int32_t> gathered_keys, gathered_values;
  std::vector<float> key_gradients, value_gradients;
};

/// As `sparse_forward`.
void bf16_sparse_forward(const Bf16SparseHead& head, const QueryGroup& group, Vectors<float> out,
                         float* top, float* sum, Bf16SparseScratch& scratch);

/// As `sparse_backward`; `d_out` is in bf16 too.
void bf16_sparse_backward(const Bf16SparseHead& head, const QueryGroup& group,
                          Vectors<const int32_t> d_out, const float* log_sum, const float* dot,
                          Vectors<float> dq, Vectors<float> dk, Vectors<float> dv,
                          Bf16SparseScratch& scratch);

}  // namespace vitrine::kernels
