#include "vitrine/kernels/small_product.h"

// Vectors of a size that only the machine knows cannot stand in arrays.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/small_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What stays the same for all blocks of a product.
template <typename T>
struct Product {
  int64_t k;
  T alpha;
  StridedMatrix<T> a;
  RowMatrix<const T> b;
  RowMatrix<T> c;
  bool add;
};

/// Rows from `row` on and columns from `column` on: kRows x kVectors sums stay in registers.
template <int kRows, int kVectors, typename D, typename T>
HWY_INLINE void block(D d, const Product<T>& p, int64_t row, int64_t column) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  const T* a = p.a.values + row * p.a.row;
  const T* b = p.b.values + column;
  for (int64_t l = 0; l < p.k; ++l, a += p.a.column, b += p.b.stride) {
    hn::Vec<decltype(d)> factor[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) factor[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto same = hn::Set(d, a[r * p.a.row]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(same, factor[v], sum[r][v]);
    }
  }
  const auto alpha = hn::Set(d, p.alpha);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    T* out = p.c.values + (row + r) * p.c.stride + column;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const auto old = p.add ? hn::LoadU(d, out + v * lanes) : hn::Zero(d);
      hn::StoreU(hn::MulAdd(alpha, sum[r][v], old), d, out + v * lanes);
    }
  }
}

#if HWY_MEM_OPS_MIGHT_FAULT

/// The last `columns`, which fill no vector: one by one, as there are no loads and stores of parts.
template <int kRows, typename T>
HWY_INLINE void edge(const Product<T>& p, int64_t row, int64_t column, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j)
    block<kRows, 1>(hn::CappedTag<T, 1>(), p, row, column + j);
}

#else

/// The last `columns`, which fill no vector.
template <int kRows, typename T>
HWY_INLINE void edge(const Product<T>& p, int64_t row, int64_t column, int64_t columns) {
  const hn::ScalableTag<T> d;
  const auto inside = hn::FirstN(d, static_cast<size_t>(columns));
  hn::Vec<decltype(d)> sum[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sum[r] = hn::Zero(d);
  const T* a = p.a.values + row * p.a.row;
  const T* b = p.b.values + column;
  for (int64_t l = 0; l < p.k; ++l, a += p.a.column, b += p.b.stride) {
    const auto factor = hn::MaskedLoad(inside, d, b);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r] = hn::MulAdd(hn::Set(d, a[r * p.a.row]), factor, sum[r]);
  }
  const auto alpha = hn::Set(d, p.alpha);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    T* out = p.c.values + (row + r) * p.c.stride + column;
    const auto old = p.add ? hn::MaskedLoad(inside, d, out) : hn::Zero(d);
    hn::BlendedStore(hn::MulAdd(alpha, sum[r], old), inside, d, out);
  }
}

#endif

template <int kRows, typename T>
void strip(const Product<T>& p, int64_t row, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) block<kRows, 2>(d, p, row, j);
  if (j + lanes <= n) {
    block<kRows, 1>(d, p, row, j);
    j += lanes;
  }
  if (j < n) edge<kRows>(p, row, j, n - j);
}

template <typename T>
void product(int64_t m, int64_t n, const Product<T>& p) {
  int64_t i = 0;
  for (; i + kProductRows <= m; i += kProductRows) strip<kProductRows>(p, i, n);
  if (i + 4 <= m) {
    strip<4>(p, i, n);
    i += 4;
  }
  if (i + 2 <= m) {
    strip<2>(p, i, n);
    i += 2;
  }
  if (i < m) strip<1>(p, i, n);
}

void product_f(int64_t m, int64_t n, int64_t k, float alpha, StridedMatrix<float> a,
               RowMatrix<const float> b, RowMatrix<float> c, bool add) {
  product<float>(m, n, {k, alpha, a, b, c, add});
}
void product_d(int64_t m, int64_t n, int64_t k, double alpha, StridedMatrix<double> a,
               RowMatrix<const double> b, RowMatrix<double> c, bool add) {
  product<double>(m, n, {k, alpha, a, b, c, add});
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(product_f);
HWY_EXPORT(product_d);

void small_product(int64_t m, int64_t n, int64_t k, float alpha, StridedMatrix<float> a,
                   RowMatrix<const float> b, RowMatrix<float> c, bool add) {
  HWY_DYNAMIC_DISPATCH(product_f)(m, n, k, alpha, a, b, c, add);
}
void small_product(int64_t m, int64_t n, int64_t k, double alpha, StridedMatrix<double> a,
                   RowMatrix<const double> b, RowMatrix<double> c, bool add) {
  HWY_DYNAMIC_DISPATCH(product_d)(m, n, k, alpha, a, b, c, add);
}

}  // namespace vitrine::kernels
#endif
