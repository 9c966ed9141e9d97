#include "vitrine/kernels/small_bf16_product.h"

// Vectors of a size that only the machine knows cannot stand in arrays.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vitrine/kernels/small_bf16_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vitrine/kernels/bf16-inl.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL
// Used only where `has_bf16_products`.
#pragma GCC push_options
#pragma GCC target("avx512bf16")
#endif
namespace vitrine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What stays the same for all blocks of a product.
struct Bf16Product {
  int64_t k;
  float alpha;
  StridedMatrix<int32_t> a;
  RowMatrix<const int32_t> b;
  RowMatrix<float> c;
  bool add;
};

/// Rows from `row` on and columns from `column` on: kRows x kVectors sums stay in registers.
template <typename Bf16, int kRows, int kVectors, typename D>
HWY_INLINE void block(D f, const Bf16Product& p, int64_t row, int64_t column) {
  const hn::RebindToSigned<D> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(f));
  hn::Vec<D> sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(f);
  const int32_t* a = p.a.values + row * p.a.row;
  const int32_t* b = p.b.values + column;
  for (int64_t l = 0; l < p.k; ++l, a += p.a.column, b += p.b.stride) {
    hn::Vec<decltype(d)> factor[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) factor[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto same = hn::Set(d, a[r * p.a.row]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = Bf16::add(f, sum[r][v], same, factor[v]);
    }
  }
  const auto alpha = hn::Set(f, p.alpha);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* out = p.c.values + (row + r) * p.c.stride + column;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const auto old = p.add ? hn::LoadU(f, out + v * lanes) : hn::Zero(f);
      hn::StoreU(hn::MulAdd(alpha, sum[r][v], old), f, out + v * lanes);
    }
  }
}

template <typename Bf16, int kRows>
void strip(const Bf16Product& p, int64_t row, int64_t n) {
  const hn::ScalableTag<float> f;
  const auto lanes = static_cast<int64_t>(hn::Lanes(f));
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) block<Bf16, kRows, 2>(f, p, row, j);
  for (; j + lanes <= n; j += lanes) block<Bf16, kRows, 1>(f, p, row, j);
  // The last columns, which fill no vector, one by one: widths that are multiples of one have none.
  for (; j < n; ++j) block<PlainBf16, kRows, 1>(hn::CappedTag<float, 1>(), p, row, j);
}

template <typename Bf16>
void strips(int64_t m, int64_t n, const Bf16Product& p) {
  int64_t i = 0;
  for (; i + kProductRows <= m; i += kProductRows) strip<Bf16, kProductRows>(p, i, n);
  if (i + 4 <= m) {
    strip<Bf16, 4>(p, i, n);
    i += 4;
  }
  if (i + 2 <= m) {
    strip<Bf16, 2>(p, i, n);
    i += 2;
  }
  if (i < m) strip<Bf16, 1>(p, i, n);
}

void product_of(int64_t m, int64_t n, int64_t k, float alpha, StridedMatrix<int32_t> a,
                RowMatrix<const int32_t> b, RowMatrix<float> c, bool add) {
  const Bf16Product p{k, alpha, a, b, c, add};
  with_bf16([&](auto bf16) { strips<decltype(bf16)>(m, n, p); });
}

}  // namespace vitrine::kernels::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
#pragma GCC pop_options
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vitrine::kernels {

HWY_EXPORT(product_of);

void small_bf16_product(int64_t m, int64_t n, int64_t k, float alpha, StridedMatrix<int32_t> a,
                        RowMatrix<const int32_t> b, RowMatrix<float> c, bool add) {
  HWY_DYNAMIC_DISPATCH(product_of)(m, n, k, alpha, a, b, c, add);
}

}  // namespace vitrine::kernels
#endif
