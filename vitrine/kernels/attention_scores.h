#pragma once

#include <algorithm>
#include <limits>

#include "vitrine/kernels/attention.h"
#include "vitrine/kernels/dropout.h"

// What attention does to the scores of `count` queries from `first` on, in rows of their keys.
namespace vitrine::kernels {

/// scores += bias + mask.
template <typename T>
void add_to_scores(const Head<T>& h, int64_t first, int64_t count, Rows<T> scores) {
  const auto keys = h.shape.keys;
  for (const T* added : {h.bias, h.mask}) {
    if (added == nullptr) continue;
    for (int64_t r = 0; r < count; ++r) {
      T* row = scores.from(r).values;
      const T* with = added + (first + r) * keys;
      for (int64_t i = 0; i < keys; ++i) row[i] += with[i];
    }
  }
}

/// The scores of what a query does not see, and of what lies up to `width`, become -infinity.
template <typename T>
void hide_scores(const Head<T>& h, int64_t first, int64_t count, int64_t width, Rows<T> scores) {
  for (int64_t r = 0; r < count; ++r) {
    T* row = scores.from(r).values;
    std::fill(row + h.visible_keys(first + r), row + width, -std::numeric_limits<T>::infinity());
  }
}

/// d_bias += d_scores, unless it is null.
template <typename T>
void add_to_bias(const Head<T>& h, int64_t first, int64_t count, Rows<const T> d_scores,
                 T* d_bias) {
  if (d_bias == nullptr) return;
  const auto keys = h.shape.keys;
  for (int64_t r = 0; r < count; ++r) {
    const T* row = d_scores.from(r).values;
    T* to = d_bias + (first + r) * keys;
    for (int64_t i = 0; i < keys; ++i) to[i] += row[i];
  }
}

/// y = dropout(x), or its gradient: nothing happens without dropout. y may be x.
template <typename T>
void drop_weights(const Head<T>& h, int64_t first, int64_t count, Rows<const T> x, Rows<T> y) {
  const auto& [probability, key, place] = h.dropout;
  if (probability == 0) return;
  for (int64_t r = 0; r < count; ++r)
    dropout(x.from(r).values, y.from(r).values, h.shape.keys, probability, key,
            place + static_cast<uint64_t>((first + r) * h.shape.keys));
}

}  // namespace vitrine::kernels
