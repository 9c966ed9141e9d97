#include "vitrine/ops/attention_heads.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "vitrine/kernels/packed_product.h"

namespace vitrine {
namespace {

constexpr int64_t kTasks = 8;  // enough for the threads to share: few heads are split by queries

/// The queries of one head from `first` on. Head `index` counts batch-major.
template <typename T>
kernels::Head<T> some_queries(const AttentionShape& s, const Heads<const T>& q,
                              const Heads<const T>& k, const Heads<const T>& v, int64_t index,
                              int64_t first, int64_t count) {
  const int64_t b = index / s.H, h = index % s.H;
  return {.q = q.rows(b, h, first),
          .k = k.rows(b, h),
          .v = v.rows(b, h),
          .shape = {count, s.head.keys, s.head.width, s.head.value_width},
          .scale = static_cast<T>(s.scale),
          .dropout = {static_cast<float>(s.dropout), s.key + static_cast<uint64_t>(index),
                      static_cast<uint64_t>(first * s.head.keys)},
          .causal = s.causal,
          .first_query = first};
}

}  // namespace

kernels::Factors attention_factors(Precision precision) {
  const bool bf16 = precision != Precision::Float32 && kernels::has_bf16_products();
  return bf16 ? kernels::Factors::Bf16 : kernels::Factors::Full;
}

torch::Tensor empty_kept(int64_t heads, const kernels::HeadShape& shape, kernels::Factors factors,
                         const torch::TensorOptions& options) {
  int64_t per_query = 0;
  AT_DISPATCH_FLOATING_TYPES(c10::typeMetaToScalarType(options.dtype()), "attention", [&] {
    per_query = kernels::head_attention<scalar_t>(shape, factors)->kept_per_query();
  });
  return torch::empty({heads, shape.queries, per_query}, options);
}

template <typename T>
void forward_heads(const AttentionShape& s, const Heads<const T>& q, const Heads<const T>& k,
                   const Heads<const T>& v, T* kept, const Heads<T>& out) {
  if (s.B * s.H == 0) return;
  const auto queries = s.head.queries;
  const int64_t parts = (kTasks + s.B * s.H - 1) / (s.B * s.H);
  const int64_t size = (queries + parts - 1) / parts;
  at::parallel_for(0, s.B * s.H * parts, 1, [&](int64_t begin, int64_t end) {
    const auto attention = kernels::head_attention<T>(s.head, s.factors);
    const auto per_query = attention->kept_per_query();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = i / parts, first = i % parts * size;
      const auto count = std::min(size, queries - first);
      if (count <= 0) continue;
      attention->forward(some_queries(s, q, k, v, index, first, count),
                         kept ? kept + (index * queries + first) * per_query : nullptr,
                         out.rows(index / s.H, index % s.H, first));
    }
  });
}

template <typename T>
void backward_heads(const AttentionShape& s, const Heads<const T>& q, const Heads<const T>& k,
                    const Heads<const T>& v, const T* kept, const Heads<const T>& d_out,
                    const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv) {
  const auto queries = s.head.queries;
  at::parallel_for(0, s.B * s.H, 1, [&](int64_t begin, int64_t end) {
    const auto attention = kernels::head_attention<T>(s.head, s.factors);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / s.H, h = i % s.H;
      attention->backward(some_queries(s, q, k, v, i, 0, queries),
                          kept + i * queries * attention->kept_per_query(), d_out.rows(b, h),
                          {dq.rows(b, h), dk.rows(b, h), dv.rows(b, h)});
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
