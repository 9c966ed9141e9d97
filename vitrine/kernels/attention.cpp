#include "vitrine/kernels/attention.h"

#include <algorithm>

#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/gemm.h"
#include "vitrine/kernels/softmax.h"

namespace vitrine::kernels {
namespace {

template <typename T>
void drop(const Head<T>& h, const T* x, T* y) {
  dropout(x, y, h.queries * h.keys, h.dropout.probability, h.dropout.key, h.dropout.first);
}

/// Writes what is added to the scores; false if that is nothing.
template <typename T>
bool start_scores(const Head<T>& h, T* scores) {
  const auto n = h.queries * h.keys;
  if (h.bias && h.mask)
    for (int64_t i = 0; i < n; ++i) scores[i] = h.bias[i] + h.mask[i];
  else if (h.bias || h.mask)
    std::copy_n(h.bias ? h.bias : h.mask, n, scores);
  return h.bias || h.mask;
}

}  // namespace

template <typename T>
void attention_forward(const Head<T>& h, T* weights, Rows<T> out, T* scratch) {
  const auto n = h.queries, m = h.keys;
  const T kept = start_scores(h, weights) ? 1 : 0;
  gemm(Transpose::No, Transpose::Yes, n, m, h.width, h.scale, h.q.values, h.q.stride, h.k.values,
       h.k.stride, kept, weights, m);
  softmax_rows(weights, n, m);
  const T* mix = weights;
  if (h.dropout.probability > 0) {
    drop(h, weights, scratch);
    mix = scratch;
  }
  gemm(Transpose::No, Transpose::No, n, h.value_width, m, T(1), mix, m, h.v.values, h.v.stride,
       T(0), out.values, out.stride);
}

template <typename T>
void attention_backward(const Head<T>& h, const T* weights, Rows<const T> d_out,
                        const HeadGradients<T>& g, T* scratch) {
  const auto n = h.queries, m = h.keys;
  T* d_weights = scratch;
  T* dropped = scratch + n * m;
  const T* mix = weights;
  if (h.dropout.probability > 0) {
    drop(h, weights, dropped);
    mix = dropped;
  }
  gemm(Transpose::Yes, Transpose::No, m, h.value_width, n, T(1), mix, m, d_out.values, d_out.stride,
       T(0), g.v.values, g.v.stride);
  gemm(Transpose::No, Transpose::Yes, n, m, h.value_width, T(1), d_out.values, d_out.stride,
       h.v.values, h.v.stride, T(0), d_weights, m);
  if (h.dropout.probability > 0) drop(h, d_weights, d_weights);
  softmax_rows_backward(weights, d_weights, d_weights, n, m);  // now that of the scores
  if (g.bias)
    for (int64_t i = 0; i < n * m; ++i) g.bias[i] += d_weights[i];
  gemm(Transpose::No, Transpose::No, n, h.width, m, h.scale, d_weights, m, h.k.values, h.k.stride,
       T(0), g.q.values, g.q.stride);
  gemm(Transpose::Yes, Transpose::No, m, h.width, n, h.scale, d_weights, m, h.q.values, h.q.stride,
       T(0), g.k.values, g.k.stride);
}

template void attention_forward(const Head<float>&, float*, Rows<float>, float*);
template void attention_forward(const Head<double>&, double*, Rows<double>, double*);
template void attention_backward(const Head<float>&, const float*, Rows<const float>,
                                 const HeadGradients<float>&, float*);
template void attention_backward(const Head<double>&, const double*, Rows<const double>,
                                 const HeadGradients<double>&, double*);

}  // namespace vitrine::kernels
