#include "vitrine/kernels/gemm.h"

#include <cblas.h>

namespace vitrine::kernels {
namespace {

// Below this many multiply-adds a call of BLAS costs more than the work.
constexpr int64_t kTinyProduct = 2048;

/// op(a)(i, l) lies at values[i * row + l * column].
template <typename T>
struct Operand {
  const T* values;
  int64_t row, column;

  Operand(Transpose trans, const T* first, int64_t ld)
      : values(first),
        row(trans == Transpose::Yes ? 1 : ld),
        column(trans == Transpose::Yes ? ld : 1) {}
};

/// N columns from `first` on, whose sums stay in registers. `Packed`: the columns of b lie side by
/// side.
template <int64_t N, bool Packed, typename T>
void tiny_columns(int64_t first, int64_t m, int64_t k, T alpha, const Operand<T>& a,
                  const Operand<T>& b, T beta, T* c, int64_t ldc) {
  const int64_t step = Packed ? 1 : b.column;
  for (int64_t i = 0; i < m; ++i) {
    T sum[N] = {};
    for (int64_t l = 0; l < k; ++l) {
      const T factor = a.values[i * a.row + l * a.column];
      const T* row = b.values + l * b.row + first * step;
#pragma GCC unroll 8
      for (int64_t j = 0; j < N; ++j) sum[j] += factor * row[j * step];
    }
    T* out = c + i * ldc + first;
#pragma GCC unroll 8
    for (int64_t j = 0; j < N; ++j) out[j] = alpha * sum[j] + (beta == 0 ? 0 : beta * out[j]);
  }
}

/// `gemm` by plain loops.
template <bool Packed, typename T>
void tiny_gemm(int64_t m, int64_t n, int64_t k, T alpha, const Operand<T>& a, const Operand<T>& b,
               T beta, T* c, int64_t ldc) {
  int64_t j = 0;
  const auto columns = [&]<int64_t N>() {
    for (; j + N <= n; j += N) tiny_columns<N, Packed>(j, m, k, alpha, a, b, beta, c, ldc);
  };
  columns.template operator()<8>();
  columns.template operator()<4>();
  columns.template operator()<1>();
}

CBLAS_TRANSPOSE blas(Transpose trans) {
  return trans == Transpose::Yes ? CblasTrans : CblasNoTrans;
}

void blas_gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, float alpha,
               const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
               int64_t ldc) {
  cblas_sgemm(CblasRowMajor, blas(ta), blas(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void blas_gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, double alpha,
               const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
               int64_t ldc) {
  cblas_dgemm(CblasRowMajor, blas(ta), blas(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace

template <typename T>
void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
          int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if (m * n * k > kTinyProduct)
    return blas_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  const Operand<T> left(ta, a, lda), right(tb, b, ldb);
  if (tb == Transpose::No)
    tiny_gemm<true>(m, n, k, alpha, left, right, beta, c, ldc);
  else
    tiny_gemm<false>(m, n, k, alpha, left, right, beta, c, ldc);
}

template void gemm(Transpose, Transpose, int64_t, int64_t, int64_t, float, const float*, int64_t,
                   const float*, int64_t, float, float*, int64_t);
template void gemm(Transpose, Transpose, int64_t, int64_t, int64_t, double, const double*, int64_t,
                   const double*, int64_t, double, double*, int64_t);

}  // namespace vitrine::kernels
