#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// Which attention weights survive dropout: decided by (key, place of the weight) alone.
struct DropoutKey {
  float probability = 0;
  uint64_t key = 0;
  uint64_t first = 0;  // the place of a head's first weight
};

/// Rows of numbers, `stride` apart.
template <typename T>
struct Rows {
  T* values;
  int64_t stride;
};

/// One head of one sequence, or some of its queries with all its keys.
template <typename T>
struct Head {
  Rows<const T> q, k, v;
  int64_t queries, keys;
  int64_t width, value_width;  // of a query and a key; of a value
  T scale;
  DropoutKey dropout{};
  const T* bias = nullptr;  // (queries, keys), added to the scores
  const T* mask = nullptr;  // the same
};

/// Gradients of a head.
template <typename T>
struct HeadGradients {
  Rows<T> q, k, v;    // overwritten
  T* bias = nullptr;  // added to; null if nobody asks
};

/// weights = softmax(scale q k^T + bias + mask), (queries, keys); out = dropout(weights) v.
/// `scratch` holds queries * keys numbers and is used with dropout only.
template <typename T>
void attention_forward(const Head<T>& head, T* weights, Rows<T> out, T* scratch);

/// Gradients from that of `out`. `scratch` holds 2 * queries * keys numbers.
template <typename T>
void attention_backward(const Head<T>& head, const T* weights, Rows<const T> d_out,
                        const HeadGradients<T>& gradients, T* scratch);

}  // namespace vitrine::kernels
