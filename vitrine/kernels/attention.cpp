#include "vitrine/kernels/attention.h"

#include <cblas.h>

#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/softmax.h"

namespace vitrine::kernels {
namespace {

// Below this many multiply-adds a call of BLAS costs more than the work.
constexpr int64_t kTinyProduct = 2048;

/// `gemm` by plain loops.
template <typename T>
void tiny_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
               const T* b, int64_t ldb, T* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i, c += ldc) {
    for (int64_t j = 0; j < n; ++j) c[j] = 0;
    for (int64_t l = 0; l < k; ++l) {
      const T factor = alpha * (ta ? a[l * lda + i] : a[i * lda + l]);
      const T* row = tb ? b + l : b + l * ldb;
      const int64_t step = tb ? ldb : 1;
      for (int64_t j = 0; j < n; ++j) c[j] += factor * row[j * step];
    }
  }
}

void blas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k, float alpha,
               const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, 0, c, ldc);
}
void blas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k,
               double alpha, const double* a, int64_t lda, const double* b, int64_t ldb, double* c,
               int64_t ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, 0, c, ldc);
}

/// c = alpha * op(a) op(b), all row-major; single-threaded when called inside a parallel region.
template <typename T>
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k, T alpha,
          const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc) {
  if (m * n * k <= kTinyProduct)
    tiny_gemm(ta == CblasTrans, tb == CblasTrans, m, n, k, alpha, a, lda, b, ldb, c, ldc);
  else
    blas_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, c, ldc);
}

}  // namespace

template <typename T>
void attention_forward(const Head<T>& h, T* weights, T* out, int64_t out_stride, T* scratch) {
  const auto n = h.tokens, d = h.width;
  gemm(CblasNoTrans, CblasTrans, n, n, d, h.scale, h.q, h.stride, h.k, h.stride, weights, n);
  softmax_rows(weights, n, n);
  const T* mix = weights;
  if (h.dropout.probability > 0) {
    dropout(weights, scratch, n * n, h.dropout.probability, h.dropout.key, 0);
    mix = scratch;
  }
  gemm(CblasNoTrans, CblasNoTrans, n, d, n, T(1), mix, n, h.v, h.stride, out, out_stride);
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
  gemm(CblasTrans, CblasNoTrans, n, d, n, T(1), mix, n, d_out, out_stride, dv, h.stride);
  gemm(CblasNoTrans, CblasTrans, n, n, d, T(1), d_out, out_stride, h.v, h.stride, d_weights, n);
  if (h.dropout.probability > 0)
    dropout(d_weights, d_weights, n * n, h.dropout.probability, h.dropout.key, 0);
  softmax_rows_backward(weights, d_weights, d_weights, n, n);
  gemm(CblasNoTrans, CblasNoTrans, n, d, n, h.scale, d_weights, n, h.k, h.stride, dq, h.stride);
  gemm(CblasTrans, CblasNoTrans, n, d, n, h.scale, d_weights, n, h.q, h.stride, dk, h.stride);
}

template void attention_forward(const Head<float>&, float*, float*, int64_t, float*);
template void attention_forward(const Head<double>&, double*, double*, int64_t, double*);
template void attention_backward(const Head<float>&, const float*, const float*, int64_t, float*,
                                 float*, float*, float*);
template void attention_backward(const Head<double>&, const double*, const double*, int64_t,
                                 double*, double*, double*, double*);

}  // namespace vitrine::kernels
