#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

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

  Rows from(int64_t row) const { return {values + row * stride, stride}; }
};

/// The size of a head; of its queries some may be taken at a time.
struct HeadShape {
  int64_t queries, keys;
  int64_t width, value_width;  // of a query and a key; of a value
};

/// One head of one sequence, or some of its queries with all its keys.
template <typename T>
struct Head {
  Rows<const T> q, k, v;
  HeadShape shape;
  T scale;
  DropoutKey dropout{};
  const T* bias = nullptr;  // (queries, keys), added to the scores
  const T* mask = nullptr;  // the same
  // Query i is token `first_query` + i of the sequence whose tokens the keys are, and sees the keys
  // up to its own.
  bool causal = false;
  int64_t first_query = 0;

  int64_t visible_keys(int64_t query) const {
    return causal ? std::min(shape.keys, first_query + query + 1) : shape.keys;
  }
};

/// Gradients of a head.
template <typename T>
struct HeadGradients {
  Rows<T> q, k, v;    // overwritten
  T* bias = nullptr;  // added to; null if nobody asks
};

/// The numbers that the products of attention multiply; sums and softmax are never rounded so.
enum class Factors { Full, Bf16 };

/// Attention of one head after the other, in memory that serves them all. For one thread.
template <typename T>
class HeadAttention {
 public:
  virtual ~HeadAttention() = default;

  /// How many numbers of a query `forward` keeps for `backward`.
  virtual int64_t kept_per_query() const = 0;

  /// out = dropout(weights) v with weights = softmax(scale q k^T + bias + mask). `kept`, (queries,
  /// kept_per_query), is for `backward`; null if none follows.
  virtual void forward(const Head<T>& head, T* kept, Rows<T> out) = 0;

  /// Gradients from that of `out`.
  virtual void backward(const Head<T>& head, const T* kept, Rows<const T> d_out,
                        const HeadGradients<T>& gradients) = 0;
};

/// For heads of at most this size. Doubles are never rounded.
template <typename T>
std::unique_ptr<HeadAttention<T>> head_attention(const HeadShape& largest, Factors factors);

}  // namespace vitrine::kernels
