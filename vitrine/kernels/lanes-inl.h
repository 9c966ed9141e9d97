// Networks so small that every lane of a vector takes a sequence of its own, compiled for each
// instruction set. A "lane matrix" is a matrix of vectors: number (i, j) of all sequences side by
// side. Weights are plain matrices, the same for all lanes.
#if defined(VITRINE_KERNELS_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VITRINE_KERNELS_LANES_INL_H
#undef VITRINE_KERNELS_LANES_INL_H
#else
#define VITRINE_KERNELS_LANES_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "vitrine/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vitrine::kernels::HWY_NAMESPACE {
namespace lanes {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kLanes = hn::MaxLanes(Tag());

HWY_INLINE Vector load(const float* m, int64_t i) { return hn::LoadU(Tag(), m + i * kLanes); }
HWY_INLINE void store(Vector v, float* m, int64_t i) { hn::StoreU(v, Tag(), m + i * kLanes); }
HWY_INLINE Vector set(float x) { return hn::Set(Tag(), x); }
HWY_INLINE Vector sigmoid(Vector x) {
  const auto small = exp(Tag(), hn::Min(hn::Neg(x), set(88)));  // no overflow
  const auto y = hn::Div(set(1), hn::Add(set(1), small));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// A matrix with any order in memory; distances are in numbers, or in vectors of lane matrices.
struct Layout {
  int64_t to_row, to_column;
};

/// Calls `work<kRows, kColumns>(row, column)` for the blocks of a matrix (rows, columns), which are
/// as large as their sums fit in registers.
template <int kRows, int kColumns, typename Work>
HWY_INLINE void for_blocks(int64_t rows, int64_t columns, const Work& work) {
  for (int64_t i = 0; i < rows;) {
    const bool whole = i + kRows <= rows;
    for (int64_t j = 0; j < columns;) {
      const bool wide = j + kColumns <= columns;
      if (whole && wide)
        work.template operator()<kRows, kColumns>(i, j);
      else if (whole)
        work.template operator()<kRows, 1>(i, j);
      else if (wide)
        work.template operator()<1, kColumns>(i, j);
      else
        work.template operator()<1, 1>(i, j);
      j += wide ? kColumns : 1;
    }
    i += whole ? kRows : 1;
  }
}

/// out (T, N) = in (T, K) w, plus a bias (N), which may be null. Number (k, n) of w is at
/// w[k * to_row + n * to_column].
inline void multiply(const float* in, int64_t T, int64_t K, const float* w, Layout l, int64_t N,
                     const float* bias, float* out) {
  const auto block = [&]<int kRows, int kColumns>(int64_t t, int64_t n) {
    Vector sum[kRows][kColumns];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) sum[r][c] = set(bias ? bias[n + c] : 0);
    for (int64_t k = 0; k < K; ++k) {
      Vector x[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) x[r] = load(in, (t + r) * K + k);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const auto weight = set(w[k * l.to_row + (n + c) * l.to_column]);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) sum[r][c] = hn::MulAdd(x[r], weight, sum[r][c]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) store(sum[r][c], out, (t + r) * N + n + c);
  };
  if (T < 4)
    for_blocks<1, 8>(T, N, block);
  else
    for_blocks<4, 2>(T, N, block);
}

/// A layer's weight (N, K), and its transpose.
constexpr Layout forward_layout(int64_t K) { return {1, K}; }
constexpr Layout backward_layout(int64_t K) { return {K, 1}; }

/// d_weight (N, K) += d_out (T, N)^T in (T, K), all lane matrices.
inline void add_outer(const float* d_out, const float* in, int64_t T, int64_t N, int64_t K,
                      float* d_weight) {
  for_blocks<4, 2>(N, K, [&]<int kRows, int kColumns>(int64_t n, int64_t k) {
    Vector sum[kRows][kColumns];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) sum[r][c] = load(d_weight, (n + r) * K + k + c);
    for (int64_t t = 0; t < T; ++t) {
      Vector x[kColumns];
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) x[c] = load(in, t * K + k + c);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const auto d = load(d_out, t * N + n + r);
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) sum[r][c] = hn::MulAdd(d, x[c], sum[r][c]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) store(sum[r][c], d_weight, (n + r) * K + k + c);
  });
}

/// d_bias (N) += the sums of d_out (T, N) over T.
inline void add_rows(const float* d_out, int64_t T, int64_t N, float* d_bias) {
  for (int64_t n = 0; n < N; ++n) {
    auto sum = load(d_bias, n);
    for (int64_t t = 0; t < T; ++t) sum = hn::Add(sum, load(d_out, t * N + n));
    store(sum, d_bias, n);
  }
}

/// A lane matrix somewhere in a larger one.
template <typename T>
struct Part {
  T* values;
  Layout layout;

  HWY_INLINE int64_t at(int64_t i, int64_t j) const {
    return i * layout.to_row + j * layout.to_column;
  }
  Part transposed() const { return {values, {layout.to_column, layout.to_row}}; }
};

/// out (M, N) = factor * a (M, K) b (K, N), all lane matrices.
inline void multiply_lanes(Part<const float> a, Part<const float> b, int64_t M, int64_t K,
                           int64_t N, float factor, Part<float> out) {
  for_blocks<4, 2>(M, N, [&]<int kRows, int kColumns>(int64_t i, int64_t j) {
    Vector sum[kRows][kColumns];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) sum[r][c] = hn::Zero(Tag());
    for (int64_t k = 0; k < K; ++k) {
      Vector y[kColumns];
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) y[c] = load(b.values, b.at(k, j + c));
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const auto x = load(a.values, a.at(i + r, k));
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) sum[r][c] = hn::MulAdd(x, y[c], sum[r][c]);
      }
    }
    const auto scale = set(factor);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c)
        store(hn::Mul(sum[r][c], scale), out.values, out.at(i + r, j + c));
  });
}

/// Rows (T, C) normalised: y = unit * gamma + beta, where unit has mean 0 and variance 1. `unit`
/// and `inv_std` (T) are for `norm_backward`.
inline void norm(const float* x, int64_t T, int64_t C, const float* gamma, const float* beta,
                 float eps, float* unit, float* inv_std, float* y) {
  const auto inv_n = set(1 / static_cast<float>(C));
  for (int64_t t = 0; t < T; ++t) {
    auto mean = hn::Zero(Tag()), squares = hn::Zero(Tag());
    for (int64_t c = 0; c < C; ++c) mean = hn::Add(mean, load(x, t * C + c));
    mean = hn::Mul(mean, inv_n);
    for (int64_t c = 0; c < C; ++c) {
      const auto away = hn::Sub(load(x, t * C + c), mean);
      squares = hn::MulAdd(away, away, squares);
    }
    const auto inverse = hn::Div(set(1), hn::Sqrt(hn::MulAdd(squares, inv_n, set(eps))));
    store(inverse, inv_std, t);
    for (int64_t c = 0; c < C; ++c) {
      const auto u = hn::Mul(hn::Sub(load(x, t * C + c), mean), inverse);
      store(u, unit, t * C + c);
      store(hn::MulAdd(u, set(gamma[c]), set(beta[c])), y, t * C + c);
    }
  }
}

/// dx from dy; adds to the gradients of gamma and beta.
inline void norm_backward(const float* dy, int64_t T, int64_t C, const float* gamma,
                          const float* unit, const float* inv_std, float* dx, float* d_gamma,
                          float* d_beta) {
  const auto inv_n = set(1 / static_cast<float>(C));
  for (int64_t t = 0; t < T; ++t) {
    auto sum = hn::Zero(Tag()), dot = hn::Zero(Tag());
    for (int64_t c = 0; c < C; ++c) {
      const auto d = load(dy, t * C + c), u = load(unit, t * C + c);
      const auto scaled = hn::Mul(d, set(gamma[c]));
      sum = hn::Add(sum, scaled);
      dot = hn::MulAdd(scaled, u, dot);
      store(hn::MulAdd(d, u, load(d_gamma, c)), d_gamma, c);
      store(hn::Add(d, load(d_beta, c)), d_beta, c);
    }
    sum = hn::Mul(sum, inv_n);
    dot = hn::Mul(dot, inv_n);
    for (int64_t c = 0; c < C; ++c) {
      const auto scaled = hn::Mul(load(dy, t * C + c), set(gamma[c]));
      const auto along = hn::MulAdd(load(unit, t * C + c), dot, sum);
      store(hn::Mul(hn::Sub(scaled, along), load(inv_std, t)), dx, t * C + c);
    }
  }
}

/// Softmax of each of `rows` rows of n.
inline void softmax(float* x, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n * kLanes) {
    auto top = load(x, 0);
    for (int64_t i = 1; i < n; ++i) top = hn::Max(top, load(x, i));
    auto sum = hn::Zero(Tag());
    for (int64_t i = 0; i < n; ++i) {
      const auto e = exp(Tag(), hn::Sub(load(x, i), top));
      sum = hn::Add(sum, e);
      store(e, x, i);
    }
    const auto inverse = hn::Div(set(1), sum);
    for (int64_t i = 0; i < n; ++i) store(hn::Mul(load(x, i), inverse), x, i);
  }
}

/// dy becomes the gradient of softmax's input.
inline void softmax_backward(const float* y, float* dy, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, y += n * kLanes, dy += n * kLanes) {
    auto dot = hn::Zero(Tag());
    for (int64_t i = 0; i < n; ++i) dot = hn::MulAdd(load(y, i), load(dy, i), dot);
    for (int64_t i = 0; i < n; ++i) store(hn::Mul(load(y, i), hn::Sub(load(dy, i), dot)), dy, i);
  }
}

/// out = x + y, n numbers of all lanes.
inline void add(const float* x, const float* y, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) store(hn::Add(load(x, i), load(y, i)), out, i);
}

/// Sequences of n numbers each, one after the other in memory, into lanes; those beyond `count` are
/// 0. And back.
inline void to_lanes(const float* x, int64_t count, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      out[i * kLanes + lane] = lane < count ? x[lane * n + i] : 0;
}
inline void from_lanes(const float* in, int64_t count, int64_t n, float* out) {
  for (int64_t lane = 0; lane < count; ++lane)
    for (int64_t i = 0; i < n; ++i) out[lane * n + i] = in[i * kLanes + lane];
}

/// totals (n) += the sums over the lanes.
inline void sum_lanes(const float* sums, int64_t n, float* totals) {
  for (int64_t i = 0; i < n; ++i) totals[i] += hn::GetLane(hn::SumOfLanes(Tag(), load(sums, i)));
}

/// Hands out memory for lane matrices one after the other; of null it only counts.
class Memory {
 public:
  explicit Memory(float* begin) : begin_(begin) {}
  float* take(int64_t numbers) {
    auto* taken = begin_ ? begin_ + floats_ : nullptr;
    floats_ += numbers * kLanes;
    return taken;
  }
  int64_t floats() const { return floats_; }

 private:
  float* begin_;
  int64_t floats_ = 0;
};

}  // namespace lanes
}  // namespace vitrine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
