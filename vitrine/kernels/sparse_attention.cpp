#include "vitrine/kernels/sparse_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/masked_softmax.h"
#include "vitrine/kernels/small_product.h"
#include "vitrine/kernels/sparse_tile.h"

namespace vitrine::kernels {
namespace {

/// The tile's vectors as a matrix: in place, or copied to `buffer`.
template <typename T>
Vectors<const T> gathered(Vectors<const T> all, int64_t width, const StridedIndices& indices,
                          std::vector<T>& buffer) {
  if (indices.run == 1) return matrix_at(all, indices);
  for (int64_t k = 0; k < indices.count; ++k)
    std::copy_n(all.values + indices[k] * all.stride, width, buffer.data() + k * width);
  return {buffer.data(), width};
}

/// The vectors as columns: (width, count).
template <typename T>
void transpose(Vectors<const T> rows, int64_t count, int64_t width, T* buffer) {
  for (int64_t k = 0; k < count; ++k)
    for (int64_t c = 0; c < width; ++c) buffer[c * count + k] = rows.values[k * rows.stride + c];
}

/// A tile of numbers, one per query and key, and how it is multiplied. What no query sees is, as
/// far as that is cheap, neither computed nor read.
template <typename T>
class Tile {
 public:
  Tile(const QueryGroup& group, const KeyTile& tile) : group_(group), tile_(tile) {}

  /// cells = scale * q k^T, where `transposed` holds the keys as columns.
  void products(T scale, Vectors<const T> q, int64_t width, const T* transposed, T* cells) const {
    constexpr int64_t kWhole = 16;  // a few cells more are cheaper than half a vector
    const auto n = tile_.keys.count;
    for_queries(group_, tile_, [&](const Strip& s) {
      const auto low = s.low / kWhole * kWhole;
      const auto high = std::min(n, (s.high + kWhole - 1) / kWhole * kWhole);
      small_product(s.count, high - low, width, scale,
                    StridedMatrix<T>{q.values + s.first * q.stride, q.stride, 1},
                    RowMatrix<const T>{transposed + low, n},
                    RowMatrix<T>{cells + s.first * n + low, n},
                    /*add=*/false);
    });
  }

  /// to += scale * cells x, for each query the sum over its keys.
  void add_to_queries(T scale, const T* cells, Vectors<const T> x, int64_t width,
                      Vectors<T> to) const {
    const auto n = tile_.keys.count;
    for_queries(group_, tile_, [&](const Strip& s) {
      small_product(s.count, width, s.high - s.low, scale,
                    StridedMatrix<T>{cells + s.first * n + s.low, n, 1},
                    RowMatrix<const T>{x.values + s.low * x.stride, x.stride},
                    RowMatrix<T>{to.values + s.first * to.stride, to.stride}, /*add=*/true);
    });
  }

  /// to += scale * cells^T x, for each key the sum over the queries that see it.
  void add_to_keys(T scale, const T* cells, Vectors<const T> x, int64_t width,
                   Vectors<T> to) const {
    const auto n = tile_.keys.count;
    for_keys(group_, tile_, [&](const Strip& s) {
      small_product(s.count, width, s.high - s.low, scale,
                    StridedMatrix<T>{cells + s.low * n + s.first, 1, n},
                    RowMatrix<const T>{x.values + s.low * x.stride, x.stride},
                    RowMatrix<T>{to.values + s.first * to.stride, to.stride}, /*add=*/true);
    });
  }

 private:
  const QueryGroup& group_;
  const KeyTile& tile_;
};

/// The weights with some dropped, or just the weights.
template <typename T>
const T* apply_dropout(const DropoutKey& drop, const KeyTile& tile, int64_t cells, const T* weights,
                       T* buffer) {
  if (drop.probability == 0) return weights;
  dropout(weights, buffer, cells, drop.probability, drop.key,
          static_cast<uint64_t>(tile.first_cell));
  return buffer;
}

}  // namespace

template <typename T>
SparseScratch<T>::SparseScratch(const AttentionPlan& plan, int64_t key_width, int64_t value_width) {
  const auto cells = plan.max_queries * plan.max_keys;
  for (auto* buffer : {&scores, &dropped, &gradients}) buffer->resize(cells);
  transposed.resize(plan.max_keys * std::max(key_width, value_width));
  for (auto* buffer : {&keys, &key_gradients}) buffer->resize(plan.max_keys * key_width);
  for (auto* buffer : {&values, &value_gradients}) buffer->resize(plan.max_keys * value_width);
}

template <typename T>
void sparse_forward(const SparseHead<T>& h, const QueryGroup& group, Vectors<T> out, T* top, T* sum,
                    SparseScratch<T>& scratch) {
  const auto rows = group.queries.count;
  const auto q = matrix_at(h.q, group.queries);
  const auto out_rows = matrix_at(out, group.queries);
  for (const auto& tile : group.tiles) {
    const auto n = tile.keys.count;
    const auto keys = gathered(h.k, h.key_width, tile.keys, scratch.keys);
    const auto values = gathered(h.v, h.value_width, tile.keys, scratch.values);
    const Tile<T> cells(group, tile);
    T* weights = scratch.scores.data();
    transpose(keys, n, h.key_width, scratch.transposed.data());
    cells.products(h.scale, q, h.key_width, scratch.transposed.data(), weights);
    for (int64_t r = 0; r < rows; ++r) {
      const auto token = group.queries[r];
      const T factor = online_softmax_update(weights + r * n, n, low_of(tile, r), high_of(tile, r),
                                             top[token], sum[token]);
      T* row = out_rows.values + r * out_rows.stride;
      if (factor != 1)
        for (int64_t c = 0; c < h.value_width; ++c) row[c] *= factor;
    }
    const T* used = apply_dropout(h.dropout, tile, rows * n, weights, scratch.dropped.data());
    cells.add_to_queries(T(1), used, values, h.value_width, out_rows);
  }
}

template <typename T>
void sparse_finish(int64_t tokens, int64_t value_width, Vectors<T> out, T* top, const T* sum) {
  for (int64_t token = 0; token < tokens; ++token) {
    if (sum[token] == 0) continue;
    const T factor = 1 / sum[token];
    T* row = out.values + token * out.stride;
    for (int64_t c = 0; c < value_width; ++c) row[c] *= factor;
    top[token] += std::log(sum[token]);
  }
}

template <typename T>
void sparse_backward(const SparseHead<T>& h, const QueryGroup& group, Vectors<const T> d_out,
                     const T* log_sum, const T* dot, Vectors<T> dq, Vectors<T> dk, Vectors<T> dv,
                     SparseScratch<T>& scratch) {
  const auto rows = group.queries.count;
  const auto q = matrix_at(h.q, group.queries);
  const auto d_rows = matrix_at(d_out, group.queries);
  const auto dq_rows = matrix_at(dq, group.queries);
  for (const auto& tile : group.tiles) {
    const auto n = tile.keys.count;
    const auto keys = gathered(h.k, h.key_width, tile.keys, scratch.keys);
    const auto values = gathered(h.v, h.value_width, tile.keys, scratch.values);
    const Tile<T> cells(group, tile);
    T *weights = scratch.scores.data(), *d_scores = scratch.gradients.data();
    transpose(keys, n, h.key_width, scratch.transposed.data());
    cells.products(h.scale, q, h.key_width, scratch.transposed.data(), weights);
    for (int64_t r = 0; r < rows; ++r)
      masked_softmax_from_logsumexp(weights + r * n, n, low_of(tile, r), high_of(tile, r),
                                    log_sum[group.queries[r]]);

    const T* used = apply_dropout(h.dropout, tile, rows * n, weights, scratch.dropped.data());
    const auto dv_rows = gradient_matrix(dv, h.value_width, tile.keys, scratch.value_gradients);
    cells.add_to_keys(T(1), used, d_rows, h.value_width, dv_rows);
    scatter(scratch.value_gradients, dv, h.value_width, tile.keys);

    transpose(values, n, h.value_width, scratch.transposed.data());
    cells.products(T(1), d_rows, h.value_width, scratch.transposed.data(), d_scores);
    apply_dropout(h.dropout, tile, rows * n, d_scores, d_scores);
    for (int64_t r = 0; r < rows; ++r)
      masked_softmax_gradient_row(weights + r * n, d_scores + r * n, n, dot[group.queries[r]]);

    cells.add_to_queries(h.scale, d_scores, keys, h.key_width, dq_rows);
    const auto dk_rows = gradient_matrix(dk, h.key_width, tile.keys, scratch.key_gradients);
    cells.add_to_keys(h.scale, d_scores, q, h.key_width, dk_rows);
    scatter(scratch.key_gradients, dk, h.key_width, tile.keys);
  }
}

template class SparseScratch<float>;
template class SparseScratch<double>;
template void sparse_forward(const SparseHead<float>&, const QueryGroup&, Vectors<float>, float*,
                             float*, SparseScratch<float>&);
template void sparse_forward(const SparseHead<double>&, const QueryGroup&, Vectors<double>, double*,
                             double*, SparseScratch<double>&);
template void sparse_finish(int64_t, int64_t, Vectors<float>, float*, const float*);
template void sparse_finish(int64_t, int64_t, Vectors<double>, double*, const double*);
template void sparse_backward(const SparseHead<float>&, const QueryGroup&, Vectors<const float>,
                              const float*, const float*, Vectors<float>, Vectors<float>,
                              Vectors<float>, SparseScratch<float>&);
template void sparse_backward(const SparseHead<double>&, const QueryGroup&, Vectors<const double>,
                              const double*, const double*, Vectors<double>, Vectors<double>,
                              Vectors<double>, SparseScratch<double>&);

}  // namespace vitrine::kernels
