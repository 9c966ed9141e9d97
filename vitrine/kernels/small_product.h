#pragma once

#include <cstdint>

namespace vitrine::kernels {

/// A matrix whose number (i, l) lies at values[i * row + l * column].
template <typename T>
struct StridedMatrix {
  const T* values;
  int64_t row, column;
};

/// A matrix whose rows lie side by side, `stride` apart.
template <typename T>
struct RowMatrix {
  T* values;
  int64_t stride;
};

/// Rows that `small_product` works on together: best where the number of rows is a multiple.
inline constexpr int64_t kProductRows = 6;

/// c += alpha * a b, or c = alpha * a b without `add`, where a is (m, k), b (k, n) and c (m, n).
/// For products too small for a call of BLAS: it packs nothing and starts no threads.
void small_product(int64_t m, int64_t n, int64_t k, float alpha, StridedMatrix<float> a,
                   RowMatrix<const float> b, RowMatrix<float> c, bool add);
void small_product(int64_t m, int64_t n, int64_t k, double alpha, StridedMatrix<double> a,
                   RowMatrix<const double> b, RowMatrix<double> c, bool add);

}  // namespace vitrine::kernels
