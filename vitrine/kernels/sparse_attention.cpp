#include "vitrine/kernels/sparse_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/gemm.h"
#include "vitrine/kernels/masked_softmax.h"

namespace vitrine::kernels {
namespace {

/// The vectors at equally distant places are a matrix where they lie.
template <typename T>
Vectors<T> matrix_at(Vectors<T> all, const Places& places) {
  return {all.values + places.start * all.stride, all.stride * places.step};
}

/// The tile's vectors as a matrix: in place, or copied to `room`.
template <typename T>
Vectors<const T> gathered(Vectors<const T> all, int64_t width, const Places& places,
                          std::vector<T>& room) {
  if (places.run == 1) return matrix_at(all, places);
  for (int64_t k = 0; k < places.count; ++k)
    std::copy_n(all.values + places[k] * all.stride, width, room.data() + k * width);
  return {room.data(), width};
}

/// Where the tile's gradients are added up: in place, or in `room`, cleared.
template <typename T>
Vectors<T> gradient_matrix(Vectors<T> all, int64_t width, const Places& places,
                           std::vector<T>& room) {
  if (places.run == 1) return matrix_at(all, places);
  std::fill_n(room.data(), places.count * width, T(0));
  return {room.data(), width};
}

/// Brings gradients from their room to their places, if they are not there already.
template <typename T>
void scatter(const std::vector<T>& room, Vectors<T> all, int64_t width, const Places& places) {
  if (places.run == 1) return;
  for (int64_t k = 0; k < places.count; ++k) {
    T* to = all.values + places[k] * all.stride;
    for (int64_t c = 0; c < width; ++c) to[c] += room[k * width + c];
  }
}

int64_t low_of(const KeyTile& tile, int64_t row) { return tile.whole ? 0 : tile.low[row]; }
int64_t high_of(const KeyTile& tile, int64_t row) {
  return tile.whole ? tile.keys.count : tile.high[row];
}

/// scores = scale * q k^T of the tile.
template <typename T>
void tile_scores(const SparseHead<T>& h, const QueryGroup& group, const KeyTile& tile,
                 Vectors<const T> keys, T* scores) {
  const auto q = matrix_at(h.q, group.queries);
  gemm(Turn::No, Turn::Yes, group.queries.count, tile.keys.count, h.key_width, h.scale, q.values,
       q.stride, keys.values, keys.stride, T(0), scores, tile.keys.count);
}

/// The weights with some dropped, or just the weights.
template <typename T>
const T* thinned(const DropoutKey& drop, const KeyTile& tile, int64_t cells, const T* weights,
                 T* room) {
  if (drop.probability == 0) return weights;
  dropout(weights, room, cells, drop.probability, drop.key, static_cast<uint64_t>(tile.number));
  return room;
}

}  // namespace

template <typename T>
SparseScratch<T>::SparseScratch(const AttentionPlan& plan, int64_t key_width, int64_t value_width) {
  const auto cells = plan.most_queries * plan.most_keys;
  for (auto* room : {&scores, &dropped, &gradients}) room->resize(cells);
  for (auto* room : {&keys, &key_gradients}) room->resize(plan.most_keys * key_width);
  for (auto* room : {&values, &value_gradients}) room->resize(plan.most_keys * value_width);
}

template <typename T>
void sparse_forward(const SparseHead<T>& h, const QueryGroup& group, Vectors<T> out, T* top, T* sum,
                    SparseScratch<T>& scratch) {
  const auto rows = group.queries.count;
  const auto mixed = matrix_at(out, group.queries);
  for (const auto& tile : group.tiles) {
    const auto n = tile.keys.count;
    const auto keys = gathered(h.k, h.key_width, tile.keys, scratch.keys);
    const auto values = gathered(h.v, h.value_width, tile.keys, scratch.values);
    T* weights = scratch.scores.data();
    tile_scores(h, group, tile, keys, weights);
    for (int64_t r = 0; r < rows; ++r) {
      const auto token = group.queries[r];
      const T factor = softmax_step(weights + r * n, n, low_of(tile, r), high_of(tile, r),
                                    top[token], sum[token]);
      T* row = mixed.values + r * mixed.stride;
      if (factor != 1)
        for (int64_t c = 0; c < h.value_width; ++c) row[c] *= factor;
    }
    const T* used = thinned(h.dropout, tile, rows * n, weights, scratch.dropped.data());
    gemm(Turn::No, Turn::No, rows, h.value_width, n, T(1), used, n, values.values, values.stride,
         T(1), mixed.values, mixed.stride);
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
    const auto n = tile.keys.count, cells = rows * n;
    const auto keys = gathered(h.k, h.key_width, tile.keys, scratch.keys);
    const auto values = gathered(h.v, h.value_width, tile.keys, scratch.values);
    T *weights = scratch.scores.data(), *d_scores = scratch.gradients.data();
    tile_scores(h, group, tile, keys, weights);
    for (int64_t r = 0; r < rows; ++r)
      softmax_again(weights + r * n, n, low_of(tile, r), high_of(tile, r),
                    log_sum[group.queries[r]]);

    const T* used = thinned(h.dropout, tile, cells, weights, scratch.dropped.data());
    const auto dv_rows = gradient_matrix(dv, h.value_width, tile.keys, scratch.value_gradients);
    gemm(Turn::Yes, Turn::No, n, h.value_width, rows, T(1), used, n, d_rows.values, d_rows.stride,
         T(1), dv_rows.values, dv_rows.stride);
    scatter(scratch.value_gradients, dv, h.value_width, tile.keys);

    gemm(Turn::No, Turn::Yes, rows, n, h.value_width, T(1), d_rows.values, d_rows.stride,
         values.values, values.stride, T(0), d_scores, n);
    thinned(h.dropout, tile, cells, d_scores, d_scores);
    for (int64_t r = 0; r < rows; ++r)
      softmax_gradient_row(weights + r * n, d_scores + r * n, n, dot[group.queries[r]]);

    gemm(Turn::No, Turn::No, rows, h.key_width, n, h.scale, d_scores, n, keys.values, keys.stride,
         T(1), dq_rows.values, dq_rows.stride);
    const auto dk_rows = gradient_matrix(dk, h.key_width, tile.keys, scratch.key_gradients);
    gemm(Turn::Yes, Turn::No, n, h.key_width, rows, h.scale, d_scores, n, q.values, q.stride, T(1),
         dk_rows.values, dk_rows.stride);
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
