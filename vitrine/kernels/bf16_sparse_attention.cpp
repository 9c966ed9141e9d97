#include "vitrine/kernels/bf16_sparse_attention.h"

#include "vitrine/kernels/bf16_rows.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/kernels/rows.h"
#include "vitrine/kernels/small_bf16_product.h"
#include "vitrine/kernels/sparse_tile.h"
#include "vitrine/kernels/transpose.h"

namespace vitrine::kernels {
namespace {

/// Whole vectors: a few cells more are cheaper than half a one.
int64_t whole(int64_t n) { return (n + kRowStep - 1) / kRowStep * kRowStep; }
int64_t pairs_of(int64_t n) { return words_of(n, kBf16PerWord); }

const uint16_t* halves(const int32_t* words) { return reinterpret_cast<const uint16_t*>(words); }

/// The tile's vectors as a matrix: in place, or copied to `buffer`.
Vectors<const int32_t> gathered(Vectors<const int32_t> all, int64_t words,
                                const StridedIndices& indices, std::vector<int32_t>& buffer) {
  if (indices.run == 1) return matrix_at(all, indices);
  for (int64_t k = 0; k < indices.count; ++k)
    std::copy_n(all.values + indices[k] * all.stride, words, buffer.data() + k * words);
  return {buffer.data(), words};
}

/// Words that hold numbers of two rows of a matrix: (pairs of rows, width).
void pair_rows(Vectors<const int32_t> rows, int64_t count, int64_t width, int32_t* out,
               int64_t out_stride) {
  for (int64_t k = 0; k < count; k += kBf16PerWord, out += out_stride) {
    const auto* row = rows.values + k * rows.stride;
    interleave_rows(halves(row), k + 1 < count ? halves(row + rows.stride) : nullptr, width, out);
  }
}

/// The numbers of a group of queries and a tile of keys, and the products with them. What no query
/// sees is, as far as that is cheap, neither computed nor read.
class Tile {
 public:
  Tile(const QueryGroup& group, const KeyTile& tile, Bf16SparseScratch& scratch)
      : group_(group), tile_(tile), scratch_(scratch), columns_(scratch.columns) {}

  /// cells = scale * x y^T for vectors of `width` numbers, x of the queries and y of the keys.
  void products(float scale, Vectors<const int32_t> x, Vectors<const int32_t> y, int64_t width,
                float* cells) const {
    const auto words = pairs_of(width);
    auto* by_column = scratch_.by_column.data();
    transpose_words(y.values, y.stride, tile_.keys.count, words, by_column, columns_);
    for_queries(group_, tile_, [&](const Strip& s) {
      const auto low = s.low / kRowStep * kRowStep;
      small_bf16_product(s.count, whole(s.high) - low, words, scale,
                         {x.values + s.first * x.stride, x.stride, 1}, {by_column + low, columns_},
                         {cells + s.first * columns_ + low, columns_}, /*add=*/false);
    });
  }

  /// to += scale * cells y, for each query the sum over its keys.
  void add_to_queries(float scale, const int32_t* cells, Vectors<const int32_t> y, int64_t width,
                      Vectors<float> to) const {
    auto* by_pair = scratch_.by_pair.data();
    pair_rows(y, tile_.keys.count, width, by_pair, width);
    const auto stride = columns_ / kBf16PerWord;
    for_queries(group_, tile_, [&](const Strip& s) {
      const auto low = s.low / kBf16PerWord, high = pairs_of(s.high);
      small_bf16_product(s.count, width, high - low, scale,
                         {cells + s.first * stride + low, stride, 1},
                         {by_pair + low * width, width},
                         {to.values + s.first * to.stride, to.stride}, /*add=*/true);
    });
  }

  /// to += scale * cells^T x, for each key the sum over the queries that see it.
  void add_to_keys(float scale, const int32_t* cells, Vectors<const int32_t> x, int64_t width,
                   Vectors<float> to) const {
    const auto rows = group_.queries.count;
    auto *pairs = scratch_.pairs.data(), *by_pair = scratch_.by_pair.data();
    pair_rows({cells, columns_ / kBf16PerWord}, rows, tile_.keys.count, pairs, columns_);
    pair_rows(x, rows, width, by_pair, width);
    for_keys(group_, tile_, [&](const Strip& s) {
      const auto low = s.low / kBf16PerWord, high = pairs_of(s.high);
      small_bf16_product(s.count, width, high - low, scale,
                         {pairs + low * columns_ + s.first, 1, columns_},
                         {by_pair + low * width, width},
                         {to.values + s.first * to.stride, to.stride}, /*add=*/true);
    });
  }

 private:
  const QueryGroup& group_;
  const KeyTile& tile_;
  Bf16SparseScratch& scratch_;
  const int64_t columns_;
};

/// Drops some of a row's cells: which, their numbers in the plan decide.
void drop_row(const DropoutKey& drop, const KeyTile& tile, int64_t row, const float* cells,
              float* out) {
  const auto n = tile.keys.count;
  dropout(cells, out, n, drop.probability, drop.key,
          static_cast<uint64_t>(tile.first_cell + row * n));
}

/// The same of all rows, which become bf16; `weights` stay as they are.
void drop_cells(const DropoutKey& drop, const KeyTile& tile, int64_t rows,
                Bf16SparseScratch& scratch, const float* weights, int32_t* words) {
  auto& buffer = scratch.dropped;
  const auto columns = scratch.columns;
  for (int64_t r = 0; r < rows; ++r) {
    drop_row(drop, tile, r, weights + r * columns, buffer.data());
    round_row(buffer.data(), tile.keys.count, words + r * columns / kBf16PerWord);
  }
}

}  // namespace

Bf16SparseScratch::Bf16SparseScratch(const AttentionPlan& plan, int64_t key_width,
                                     int64_t value_width)
    : columns(whole(plan.max_keys)) {
  const auto cells = plan.max_queries * columns;
  const auto widest = std::max(key_width, value_width);
  for (auto* buffer : {&scores, &gradients}) buffer->resize(cells);
  dropped.resize(columns);
  for (auto* buffer : {&weight_words, &score_words}) buffer->resize(cells / kBf16PerWord);
  pairs.resize(pairs_of(plan.max_queries) * columns);
  by_column.resize(pairs_of(widest) * columns);
  by_pair.resize(pairs_of(std::max(plan.max_keys, plan.max_queries)) * widest);
  gathered_keys.resize(plan.max_keys * pairs_of(key_width));
  gathered_values.resize(plan.max_keys * pairs_of(value_width));
  key_gradients.resize(plan.max_keys * key_width);
  value_gradients.resize(plan.max_keys * value_width);
}

void bf16_sparse_forward(const Bf16SparseHead& h, const QueryGroup& group, Vectors<float> out,
                         float* top, float* sum, Bf16SparseScratch& scratch) {
  const auto rows = group.queries.count, columns = scratch.columns;
  const auto q = matrix_at(h.q, group.queries);
  const auto out_rows = matrix_at(out, group.queries);
  for (const auto& tile : group.tiles) {
    const auto n = tile.keys.count;
    const auto keys = gathered(h.k, pairs_of(h.key_width), tile.keys, scratch.gathered_keys);
    const auto values = gathered(h.v, pairs_of(h.value_width), tile.keys, scratch.gathered_values);
    const Tile cells(group, tile, scratch);
    float* weights = scratch.scores.data();
    auto* words = scratch.weight_words.data();
    cells.products(h.scale, q, keys, h.key_width, weights);
    for (int64_t r = 0; r < rows; ++r) {
      const auto token = group.queries[r];
      const float factor =
          bf16_softmax_update(weights + r * columns, whole(n), low_of(tile, r), high_of(tile, r),
                              top[token], sum[token], words + r * columns / kBf16PerWord);
      if (factor != 1) scale_row(out_rows.values + r * out_rows.stride, h.value_width, factor);
    }
    if (h.dropout.probability > 0) drop_cells(h.dropout, tile, rows, scratch, weights, words);
    cells.add_to_queries(1, words, values, h.value_width, out_rows);
  }
}

void bf16_sparse_backward(const Bf16SparseHead& h, const QueryGroup& group,
                          Vectors<const int32_t> d_out, const float* log_sum, const float* dot,
                          Vectors<float> dq, Vectors<float> dk, Vectors<float> dv,
                          Bf16SparseScratch& scratch) {
  const auto rows = group.queries.count, columns = scratch.columns;
  const auto q = matrix_at(h.q, group.queries);
  const auto d_rows = matrix_at(d_out, group.queries);
  const auto dq_rows = matrix_at(dq, group.queries);
  auto *weight_words = scratch.weight_words.data(), *score_words = scratch.score_words.data();
  for (const auto& tile : group.tiles) {
    const auto n = tile.keys.count;
    const auto keys = gathered(h.k, pairs_of(h.key_width), tile.keys, scratch.gathered_keys);
    const auto values = gathered(h.v, pairs_of(h.value_width), tile.keys, scratch.gathered_values);
    const Tile cells(group, tile, scratch);
    float *weights = scratch.scores.data(), *d_scores = scratch.gradients.data();
    cells.products(h.scale, q, keys, h.key_width, weights);
    for (int64_t r = 0; r < rows; ++r)
      bf16_softmax_from_logsumexp(weights + r * columns, whole(n), low_of(tile, r),
                                  high_of(tile, r), log_sum[group.queries[r]],
                                  weight_words + r * columns / kBf16PerWord);
    if (h.dropout.probability > 0)
      drop_cells(h.dropout, tile, rows, scratch, weights, weight_words);
    const auto dv_rows = gradient_matrix(dv, h.value_width, tile.keys, scratch.value_gradients);
    cells.add_to_keys(1, weight_words, d_rows, h.value_width, dv_rows);
    scatter(scratch.value_gradients, dv, h.value_width, tile.keys);

    cells.products(1, d_rows, values, h.value_width, d_scores);
    for (int64_t r = 0; r < rows; ++r) {
      float* row = d_scores + r * columns;
      if (h.dropout.probability > 0) drop_row(h.dropout, tile, r, row, row);
      bf16_softmax_gradient_row(weights + r * columns, row, whole(n), low_of(tile, r),
                                high_of(tile, r), dot[group.queries[r]],
                                score_words + r * columns / kBf16PerWord);
    }

    cells.add_to_queries(h.scale, score_words, keys, h.key_width, dq_rows);
    const auto dk_rows = gradient_matrix(dk, h.key_width, tile.keys, scratch.key_gradients);
    cells.add_to_keys(h.scale, score_words, q, h.key_width, dk_rows);
    scatter(scratch.key_gradients, dk, h.key_width, tile.keys);
  }
}

}  // namespace vitrine::kernels
