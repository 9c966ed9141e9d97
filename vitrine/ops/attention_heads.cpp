#include "vitrine/ops/attention_heads.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

namespace vitrine {
namespace {

constexpr int64_t kQueriesAtOnce = 96;  // so that their scores stay in the cache

/// The queries of one head from `first` on. Head `index` counts batch-major.
template <typename T>
kernels::Head<T> some_queries(const AttentionShape& s, const Heads<const T>& q,
                              const Heads<const T>& k, const Heads<const T>& v, int64_t index,
                              int64_t first, int64_t count) {
  const int64_t b = index / s.H, h = index % s.H;
  return {.q = q.rows(b, h, first),
          .k = k.rows(b, h),
          .v = v.rows(b, h),
          .queries = count,
          .keys = s.keys,
          .width = s.width,
          .value_width = s.value_width,
          .scale = static_cast<T>(s.scale),
          .dropout = {static_cast<float>(s.dropout), s.key + static_cast<uint64_t>(index),
                      static_cast<uint64_t>(first * s.keys)}};
}

}  // namespace

template <typename T>
void forward_heads(const AttentionShape& s, const Heads<const T>& q, const Heads<const T>& k,
                   const Heads<const T>& v, T* weights, const Heads<T>& out) {
  const int64_t parts = (s.queries + kQueriesAtOnce - 1) / kQueriesAtOnce;
  const int64_t size = (s.queries + parts - 1) / parts;
  at::parallel_for(0, s.B * s.H * parts, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> dropped(s.dropout > 0 ? size * s.keys : 0), scores(weights ? 0 : size * s.keys);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = i / parts, first = i % parts * size;
      const auto count = std::min(size, s.queries - first);
      if (count <= 0) continue;
      T* kept = weights ? weights + (index * s.queries + first) * s.keys : scores.data();
      kernels::attention_forward(some_queries(s, q, k, v, index, first, count), kept,
                                 out.rows(index / s.H, index % s.H, first), dropped.data());
    }
  });
}

template <typename T>
void backward_heads(const AttentionShape& s, const Heads<const T>& q, const Heads<const T>& k,
                    const Heads<const T>& v, const T* weights, const Heads<const T>& d_out,
                    const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv) {
  at::parallel_for(0, s.B * s.H, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> scratch(2 * s.queries * s.keys);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / s.H, h = i % s.H;
      kernels::attention_backward(some_queries(s, q, k, v, i, 0, s.queries),
                                  weights + i * s.queries * s.keys, d_out.rows(b, h),
                                  {dq.rows(b, h), dk.rows(b, h), dv.rows(b, h)}, scratch.data());
    }
  });
}

template void forward_heads(const AttentionShape&, const Heads<const float>&,
                            const Heads<const float>&, const Heads<const float>&, float*,
                            const Heads<float>&);
template void forward_heads(const AttentionShape&, const Heads<const double>&,
                            const Heads<const double>&, const Heads<const double>&, double*,
                            const Heads<double>&);
template void backward_heads(const AttentionShape&, const Heads<const float>&,
                             const Heads<const float>&, const Heads<const float>&, const float*,
                             const Heads<const float>&, const Heads<float>&, const Heads<float>&,
                             const Heads<float>&);
template void backward_heads(const AttentionShape&, const Heads<const double>&,
                             const Heads<const double>&, const Heads<const double>&, const double*,
                             const Heads<const double>&, const Heads<double>&, const Heads<double>&,
                             const Heads<double>&);

}  // namespace vitrine
