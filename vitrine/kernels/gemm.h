#pragma once

#include <cstdint>

namespace vitrine::kernels {

enum class Transpose { No, Yes };

/// c = alpha * op(a) op(b) + beta * c, all row-major with rows `ld` apart; op swaps rows and
/// columns where asked. op(a) is (m, k), op(b) is (k, n). Single-threaded when called inside a
/// parallel region.
template <typename T>
void gemm(Transpose trans_a, Transpose trans_b, int64_t m, int64_t n, int64_t k, T alpha,
          const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc);

}  // namespace vitrine::kernels
