#include "vitrine/kernels/attention.h"

#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/gemm.h"
#include "vitrine/kernels/softmax.h"

namespace vitrine::kernels {
template <typename T>
void attention_forward(const Head<T>& h, T* weights, T* out, int64_t out_stride, T* scratch) {
  const auto n = h.tokens, d = h.width;
  gemm(Transpose::No, Transpose::Yes, n, n, d, h.scale, h.q, h.stride, h.k, h.stride, T(0), weights,
       n);
  softmax_rows(weights, n, n);
  const T* mix = weights;
  if (h.dropout.probability > 0) {
    dropout(weights, scratch, n * n, h.dropout.probability, h.dropout.key, 0);
    mix = scratch;
  }
  gemm(Transpose::No, Transpose::No, n, d, n, T(1), mix, n, h.v, h.stride, T(0), out, out_stride);
}

template <typename T>
void attention_backward(const Head<T>& h, const T* weights, const T* d_out, int64_t out_stride,
                        T* dq, T* dk, T* dv, T* scratch) {
  const auto n = h.tokens, d = h.width;
  T* d_weights = scratch;
  T* dropped = scratch + n * n;
  const T* mix = weights;
  if (h.dropout.probability > 0) {
    dropout(weights, dropped, n * n, h.dropout.probability, h.dropout.key, 0);
    mix = dropped;
  }
  gemm(Transpose::Yes, Transpose::No, n, d, n, T(1), mix, n, d_out, out_stride, T(0), dv, h.stride);
  gemm(Transpose::No, Transpose::Yes, n, n, d, T(1), d_out, out_stride, h.v, h.stride, T(0),
       d_weights, n);
  if (h.dropout.probability > 0)
    dropout(d_weights, d_weights, n * n, h.dropout.probability, h.dropout.key, 0);
  softmax_rows_backward(weights, d_weights, d_weights, n, n);
  gemm(Transpose::No, Transpose::No, n, d, n, h.scale, d_weights, n, h.k, h.stride, T(0), dq,
       h.stride);
  gemm(Transpose::Yes, Transpose::No, n, d, n, h.scale, d_weights, n, h.q, h.stride, T(0), dk,
       h.stride);
}

template void attention_forward(const Head<float>&, float*, float*, int64_t, float*);
template void attention_forward(const Head<double>&, double*, double*, int64_t, double*);
template void attention_backward(const Head<float>&, const float*, const float*, int64_t, float*,
                                 float*, float*, float*);
template void attention_backward(const Head<double>&, const double*, const double*, int64_t,
                                 double*, double*, double*, double*);

}  // namespace vitrine::kernels
