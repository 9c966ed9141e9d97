#include "vitrine/kernels/packed_attention.h"

#include <algorithm>

#include "vitrine/kernels/attention_scores.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/kernels/rows.h"
#include "vitrine/kernels/softmax.h"
#include "vitrine/kernels/transpose.h"

namespace vitrine::kernels {
namespace {

constexpr int64_t kQueriesAtOnce = 48;  // their scores stay in the cache; a multiple of a tile
constexpr int64_t kPadding = 16;        // a multiple of the numbers in a vector

const int32_t* words_at(const float* numbers) { return reinterpret_cast<const int32_t*>(numbers); }
float* numbers_at(int32_t* words) { return reinterpret_cast<float*>(words); }

template <typename T>
T* room(std::vector<T>& memory, int64_t size) {
  if (std::ssize(memory) < size) memory.resize(size);
  return memory.data();
}

/// Fills what lies between the keys and the end of each row with 0.
void fill_padding(float* rows, int64_t count, int64_t keys, int64_t padded) {
  for (int64_t r = 0; r < count; ++r)
    std::fill(rows + r * padded + keys, rows + (r + 1) * padded, 0.0f);
}

}  // namespace

PackedAttention::PackedAttention(const HeadShape& largest, Factors factors)
    : factors_(factors),
      layout_(packed_layout()),
      per_word_(factors == Factors::Bf16 ? kBf16PerWord : kFp32PerWord),
      padded_((largest.keys + kPadding - 1) / kPadding * kPadding),
      scores_(kQueriesAtOnce * padded_) {}

bool PackedAttention::suits(const HeadShape& shape) {
  constexpr int64_t kFewMultiplyAdds = 1 << 15;  // for its scores
  return shape.queries * shape.keys * shape.width >= kFewMultiplyAdds;
}

Rows<const int32_t> PackedAttention::to_factor(Rows<const float> rows, int64_t count, int64_t width,
                                               Words& words) {
  if (!rounds()) return {words_at(rows.values), rows.stride};
  const auto stride = words_of(width, per_word_);
  auto* out = room(words, count * stride);
  round_rows(rows.values, rows.stride, count, width, out, stride);
  return {out, stride};
}

PackedAttention::WordRows PackedAttention::to_factors(const Head<float>& h) {
  const auto& s = h.shape;
  return {to_factor(h.q, s.queries, s.width, q_words_), to_factor(h.k, s.keys, s.width, k_words_),
          to_factor(h.v, s.keys, s.value_width, v_words_)};
}

/// Of rows of weights or scores; `words` is where rounded ones go.
PackedAttention::RowFactor PackedAttention::weight_factor(const float* rows, int64_t count,
                                                          int32_t* words) const {
  if (!rounds()) return {words_at(rows), padded_};
  const auto stride = kept_per_query();
  round_rows(rows, padded_, count, padded_, words, stride);
  return {words, stride};
}

/// The columns of a factor of all queries, as rows.
PackedAttention::RowFactor PackedAttention::column_factor(const int32_t* rows,
                                                          const HeadShape& shape,
                                                          Words& interleaved) const {
  if (!rounds()) return {rows, 1, padded_};
  const auto pairs = words_of(shape.queries, per_word_), stride = kept_per_query();
  auto* out = room(interleaved, pairs * padded_);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const auto* even = reinterpret_cast<const uint16_t*>(rows + 2 * pair * stride);
    const auto* odd = 2 * pair + 1 < shape.queries ? even + 2 * stride : nullptr;
    interleave_rows(even, odd, shape.keys, out + pair * padded_);
  }
  return {out, 1, padded_};
}

/// Each of the rows makes a column.
void PackedAttention::pack_rows(Rows<const int32_t> rows, int64_t count, int64_t width,
                                Panels& to) {
  const auto columns = layout_.columns;
  to.outputs = count;
  to.words = words_of(width, per_word_);
  auto* out = room(to.values, layout_.panels(count) * to.words * columns);
  for (int64_t first = 0; first < count; first += columns, out += to.words * columns)
    transpose_words(rows.from(first).values, rows.stride, std::min(columns, count - first),
                    to.words, out, columns);
}

/// Each of their columns makes a column.
void PackedAttention::pack_columns(Rows<const int32_t> rows, int64_t count, int64_t width,
                                   Panels& to) {
  const auto columns = layout_.columns;
  to.outputs = width;
  to.words = words_of(count, per_word_);
  auto* out = room(to.values, layout_.panels(width) * to.words * columns);
  for (int64_t first = 0; first < width; first += columns) {
    const auto inside = std::min(columns, width - first);
    for (int64_t word = 0; word < to.words; ++word, out += columns) {
      const auto* row = rows.from(word * per_word_).values;
      if (!rounds()) {
        std::copy_n(row + first, inside, out);
        continue;
      }
      const auto* even = reinterpret_cast<const uint16_t*>(row);
      const auto* odd = reinterpret_cast<const uint16_t*>(row + rows.stride);
      interleave_rows(even + first, 2 * word + 1 < count ? odd + first : nullptr, inside, out);
    }
  }
}

void PackedAttention::multiply(const RowFactor& rows, int64_t count, const Panels& panels,
                               const Extent& extent, Rows<float> out) const {
  for (int64_t first = 0; first < extent.outputs; first += layout_.columns) {
    const PackedProduct p{.n = extent.outputs - first,
                          .words = extent.words,
                          .rows = rows.words,
                          .row_stride = rows.row_stride,
                          .group = rows.group,
                          .panels = panels.values.data() + first * panels.words,
                          .y = out.values + first,
                          .y_stride = out.stride};
    (rounds() ? bf16_product : fp32_product)(p, /*panel=*/0, /*first=*/0, count);
  }
}

/// Rows of weights that `forward` kept.
const float* PackedAttention::kept_weights(const float* kept, int64_t count) {
  if (!rounds()) return kept;
  auto* weights = room(weights_, count * padded_);
  expand_row(words_at(kept), count * padded_, weights);
  return weights;
}

void PackedAttention::forward(const Head<float>& h, float* kept, Rows<float> out) {
  forward(h, to_factors(h), kept, out);
}

void PackedAttention::backward(const Head<float>& h, const float* kept, Rows<const float> d_out,
                               const HeadGradients<float>& g) {
  backward(h, to_factors(h), kept, d_out, g);
}

void PackedAttention::forward(const Head<float>& h, const WordRows& in, float* kept,
                              Rows<float> out) {
  const auto& s = h.shape;
  // Without a bias the softmax scales.
  const bool biased = h.bias || h.mask;
  pack_rows(in.k, s.keys, s.width, keys_);
  pack_columns(in.v, s.keys, s.value_width, values_);
  auto* some_words = room(weight_words_, kQueriesAtOnce * kept_per_query());
  for (int64_t first = 0; first < s.queries; first += kQueriesAtOnce) {
    const auto count = std::min(kQueriesAtOnce, s.queries - first);
    float* keep = kept ? kept + first * kept_per_query() : nullptr;
    float* weights = keep && !rounds() ? keep : scores_.data();
    const Rows<float> rows{weights, padded_};
    const auto visible = h.visible_keys(first + count - 1);  // of these queries
    multiply({in.q.from(first).values, in.q.stride}, count, keys_, {visible, keys_.words}, rows);
    if (biased) {
      for (int64_t r = 0; r < count; ++r) scale_row(rows.from(r).values, s.keys, h.scale);
      add_to_scores(h, first, count, rows);
    }
    hide_scores(h, first, count, padded_, rows);
    softmax_rows(weights, count, padded_, biased ? 1 : h.scale);
    auto factor =
        weight_factor(weights, count, keep ? reinterpret_cast<int32_t*>(keep) : some_words);
    if (h.dropout.probability > 0) {
      drop_weights<float>(h, first, count, {weights, padded_}, {scores_.data(), padded_});
      fill_padding(scores_.data(), count, s.keys, padded_);
      factor = weight_factor(scores_.data(), count, some_words);
    }
    multiply(factor, count, values_, {s.value_width, words_of(visible, per_word_)},
             out.from(first));
  }
}

void PackedAttention::backward(const Head<float>& h, const WordRows& in, const float* kept,
                               Rows<const float> d_out, const HeadGradients<float>& g) {
  const auto& s = h.shape;
  const auto stride = kept_per_query();
  const bool drops = h.dropout.probability > 0;
  const auto d_rows = to_factor(d_out, s.queries, s.value_width, d_out_words_);
  pack_rows(in.v, s.keys, s.value_width, values_);
  pack_columns(in.k, s.keys, s.width, keys_);
  pack_columns(in.q, s.queries, s.width, queries_);
  pack_columns(d_rows, s.queries, s.value_width, d_out_);
  auto* d_scores = room(score_words_, s.queries * stride);
  auto* dropped = room(weight_words_, drops ? s.queries * stride : 0);
  for (int64_t first = 0; first < s.queries; first += kQueriesAtOnce) {
    const auto count = std::min(kQueriesAtOnce, s.queries - first);
    const float* weights = kept_weights(kept + first * stride, count);
    auto* to = d_scores + first * stride;
    float* gradient = rounds() ? scores_.data() : numbers_at(to);  // of the weights, then scores
    const Rows<float> rows{gradient, padded_};
    const auto visible = h.visible_keys(first + count - 1);  // of these queries
    multiply({d_rows.from(first).values, d_rows.stride}, count, values_, {visible, values_.words},
             rows);
    fill_padding(gradient, count, visible, padded_);
    drop_weights<float>(h, first, count, {gradient, padded_}, rows);
    // The bias is added behind the scale.
    softmax_rows_backward(weights, gradient, gradient, count, padded_, g.bias ? 1 : h.scale);
    if (g.bias) {
      add_to_bias<float>(h, first, count, {gradient, padded_}, g.bias);
      scale_row(gradient, count * padded_, h.scale);
    }
    multiply(weight_factor(gradient, count, to), count, keys_,
             {s.width, words_of(visible, per_word_)}, g.q.from(first));
    if (!drops) continue;
    auto* words = dropped + first * stride;
    float* through = rounds() ? scores_.data() : numbers_at(words);
    drop_weights<float>(h, first, count, {weights, padded_}, {through, padded_});
    fill_padding(through, count, s.keys, padded_);
    weight_factor(through, count, words);
  }
  multiply(column_factor(d_scores, s, score_columns_), s.keys, queries_, g.k);
  multiply(column_factor(drops ? dropped : words_at(kept), s, weight_columns_), s.keys, d_out_,
           g.v);
}

}  // namespace vitrine::kernels
