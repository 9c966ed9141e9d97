#include "vitrine/ops/training/factors.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"

namespace vitrine {
namespace {

int64_t numbers_per_word(Precision precision) {
  return precision == Precision::BFloat16 ? kernels::kBf16PerWord : kernels::kFp32PerWord;
}

/// Numbers in fp32 are words as they are.
const int32_t* as_words(const float* x) { return reinterpret_cast<const int32_t*>(x); }

/// Rows of words that begin `stride` words apart.
struct WordRows {
  const int32_t* words;
  int64_t stride, rows;
};

/// The columns [first, first + count) as words along the columns, each of `per_word` rows; those of
/// the next rows lie `group` words behind.
void write_columns(const WordRows& in, int64_t first, int64_t count, int64_t per_word, int32_t* out,
                   int64_t group) {
  if (per_word == kernels::kBf16PerWord) {
    kernels::interleave_pairs(reinterpret_cast<const uint16_t*>(in.words) + first, 2 * in.stride,
                              in.rows, count, out, group);
    return;
  }
  for (int64_t r = 0; r < in.rows; ++r)
    std::memcpy(out + r * group, in.words + r * in.stride + first, count * sizeof(int32_t));
}

/// The groups of a matrix (M, K).
struct Groups {
  int64_t M, K, group, per_word;
  int32_t* words;

  /// Writes the columns [column, column + columns) of the rows from `row` on.
  void write(const WordRows& in, int64_t row, int64_t column, int64_t columns) const {
    const auto height = kernels::words_of(M, per_word);
    for (int64_t i = 0; i < columns;) {
      const auto inside = (column + i) % group;
      // Up to the end of the group or of the columns; behind the last column zeros.
      const auto count = std::min(group - inside, columns - i);
      auto* out = words + (column + i - inside) * height + row / per_word * group + inside;
      write_columns(in, i, count, per_word, out, group);
      if (column + i + count == K)
        for (int64_t r = 0; r < in.rows; r += per_word, out += group)
          std::fill(out + count, out + group - inside, 0);
      i += count;
    }
  }
};

void add_row(const float* row, int64_t n, float* sum) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] += row[i];
}

Factor empty_factor(int64_t M, int64_t K, int64_t per_word, const FactorParts& parts) {
  Factor result;
  if (parts.rows) result.rows = torch::empty({M, kernels::words_of(K, per_word)}, torch::kInt);
  if (parts.group > 0)
    result.groups = torch::empty(
        {(K + parts.group - 1) / parts.group, kernels::words_of(M, per_word), parts.group},
        torch::kInt);
  return result;
}

int32_t* words_or_null(const torch::Tensor& t) {
  return t.defined() ? t.data_ptr<int32_t>() : nullptr;
}

kernels::PackedProduct packed_product(const TrainingProduct& p, const RowFactor& rows,
                                      const torch::Tensor& bias, float* y, int64_t y_stride) {
  const auto words = p.panels.size(1);
  return {.n = p.N,
          .words = words,
          .rows = rows.words.data_ptr<int32_t>(),
          .row_stride = rows.grouped ? 1 : words,
          .word_stride = rows.grouped ? kRowsPerTask : 1,
          .panels = p.panels.data_ptr<int32_t>(),
          .bias = values_or_null(bias),
          .y = y,
          .y_stride = y_stride};
}

/// Calls `compute(kernel, panel, first, count)` for all parts of a product.
template <typename Compute>
void for_all_parts(const TrainingProduct& p, int64_t rows, const Compute& compute) {
  const bool bf16 = p.precision == Precision::BFloat16;
  const auto kernel = bf16 ? kernels::bf16_product : kernels::fp32_product;
  for_all_panels(
      rows, p.N, p.panels.size(1) * numbers_per_word(p.precision), kernels::packed_layout(),
      [&](int64_t panel, int64_t first, int64_t count) { compute(kernel, panel, first, count); });
}

}  // namespace

Factor to_factor(const torch::Tensor& matrix, Precision precision, const FactorParts& wanted) {
  constexpr int64_t kParts = 16;
  const auto x = matrix.reshape({-1, matrix.size(-1)}).contiguous();
  const auto per_word = numbers_per_word(precision);
  const auto M = x.size(0), K = x.size(1), width = kernels::words_of(K, per_word);
  const auto height = kernels::words_of(M, per_word), parts = std::min(kParts, height);
  const bool as_they_are = per_word == 1;
  auto result =
      empty_factor(M, K, per_word, {.rows = wanted.rows && !as_they_are, .group = wanted.group});
  auto sums = torch::zeros({wanted.column_sums ? parts : 0, K});
  const auto* in = x.data_ptr<float>();
  auto* kept = words_or_null(result.rows);
  const Groups groups{M, K, wanted.group, per_word, words_or_null(result.groups)};
  auto* part_sums = sums.data_ptr<float>();
  const auto convert_part = [&](int64_t part) {
    std::vector<int32_t> buffer(kept || as_they_are ? 0 : per_word * width);
    const auto begin = height * part / parts * per_word,
               end = std::min(M, height * (part + 1) / parts * per_word);
    for (int64_t row = begin; row < end; row += per_word) {
      const auto count = std::min(per_word, end - row);
      const auto* words = as_words(in + row * K);
      if (!as_they_are) {
        auto* out = kept ? kept + row * width : buffer.data();
        for (int64_t r = 0; r < count; ++r)
          kernels::round_row(in + (row + r) * K, K, out + r * width);
        words = out;
      }
      for (int64_t r = 0; r < count && wanted.column_sums; ++r)
        add_row(in + (row + r) * K, K, part_sums + part * K);
      if (groups.words) groups.write({words, width, count}, row, 0, K);
    }
  };
  if (!as_they_are || groups.words || wanted.column_sums)
    at::parallel_for(0, parts,
                     items_per_task(kConversionsPerTask, M * K / std::max<int64_t>(1, parts)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t part = begin; part < end; ++part) convert_part(part);
                     });
  if (wanted.rows && as_they_are) result.rows = x.view(torch::kInt);
  if (wanted.column_sums) result.column_sums = sums.sum(0);
  return result;
}

FactorWriter::FactorWriter(int64_t M, int64_t K, Precision precision, const FactorParts& parts)
    : M_(M),
      K_(K),
      group_(parts.group),
      per_word_(numbers_per_word(precision)),
      factor_(empty_factor(M, K, per_word_, parts)) {
  if (parts.column_sums) block_sums_ = torch::empty({(M + kRowsPerTask - 1) / kRowsPerTask, K});
}

void FactorWriter::write(const Tile& tile) {
  int32_t rounded[kRowsPerTask * kMostColumns / kernels::kBf16PerWord];
  const auto* tile_words = as_words(tile.values);
  if (per_word_ == kernels::kBf16PerWord) {
    kernels::round_row(tile.values, tile.numbers(), rounded);
    tile_words = rounded;
  }
  const auto stride = tile.stride / per_word_;
  if (factor_.rows.defined()) {
    const auto width = factor_.rows.size(1), inside = kernels::words_of(tile.columns, per_word_);
    auto* words = factor_.rows.data_ptr<int32_t>() + tile.row * width + tile.column / per_word_;
    for (int64_t r = 0; r < tile.rows; ++r)
      std::memcpy(words + r * width, tile_words + r * stride, inside * sizeof(int32_t));
  }
  if (factor_.groups.defined())
    Groups{M_, K_, group_, per_word_, factor_.groups.data_ptr<int32_t>()}.write(
        {tile_words, stride, tile.rows}, tile.row, tile.column, tile.columns);
  if (block_sums_.defined())
    kernels::sum_rows(tile.values, tile.stride, tile.rows, tile.columns,
                      block_sums_.data_ptr<float>() + tile.row / kRowsPerTask * K_ + tile.column);
}

Factor FactorWriter::finish() const {
  auto result = factor_;
  if (block_sums_.defined()) result.column_sums = block_sums_.sum(0);
  return result;
}

torch::Tensor packed_rows(const torch::Tensor& weight_or_view, Precision precision) {
  const auto weight = weight_or_view.contiguous();
  const auto layout = kernels::packed_layout();
  const auto per_word = numbers_per_word(precision);
  const auto N = weight.size(0), K = weight.size(1), columns = layout.columns;
  const auto width = kernels::words_of(K, per_word);
  auto panels = torch::empty({layout.panels(N), width, columns}, torch::kInt);
  const auto* in = weight.data_ptr<float>();
  auto* out = panels.data_ptr<int32_t>();
  at::parallel_for(0, panels.size(0), items_per_task(kConversionsPerTask, columns * K),
                   [&](int64_t begin, int64_t end) {
                     std::vector<int32_t> rounded(per_word == 1 ? 0 : columns * width);
                     for (int64_t panel = begin; panel < end; ++panel) {
                       const auto first = panel * columns, count = std::min(columns, N - first);
                       for (int64_t r = 0; r < count && per_word > 1; ++r)
                         kernels::round_row(in + (first + r) * K, K, rounded.data() + r * width);
                       const auto* words = per_word > 1 ? rounded.data() : as_words(in + first * K);
                       kernels::pack_words(words, count, width, layout, /*panel=*/0,
                                           out + first * width);
                     }
                   });
  return panels;
}

torch::Tensor packed_columns(const torch::Tensor& weight, Precision precision) {
  const auto columns = kernels::packed_layout().columns;
  return to_factor(weight, precision, {.rows = false, .group = columns}).groups;
}

torch::Tensor TrainingProduct::of(const RowFactor& rows) const {
  const auto padded = padded_bias(bias, N, kernels::packed_layout());
  auto y = torch::empty({rows.n, N});
  const auto all = packed_product(*this, rows, padded, y.data_ptr<float>(), N);
  for_all_parts(*this, rows.n, [&](auto kernel, int64_t panel, int64_t first, int64_t count) {
    auto part = all;
    part.rows += first * part.words;
    part.y += first * N;
    kernel(part, panel, /*first=*/0, count);
  });
  return y;
}

void TrainingProduct::tiles_of(const RowFactor& rows,
                               const std::function<void(const Tile&)>& take) const {
  const auto layout = kernels::packed_layout();
  const auto columns = layout.columns;
  const auto padded = padded_bias(bias, N, layout);
  const auto all = packed_product(*this, rows, padded, /*y=*/nullptr, columns);
  for_all_parts(*this, rows.n, [&](auto kernel, int64_t panel, int64_t first, int64_t count) {
    float values[kRowsPerTask * kMostColumns];
    const auto column = panel * columns;
    auto part = all;  // of this panel alone
    part.n -= column;
    part.rows += first * part.words;
    part.panels += column * part.words;
    if (part.bias) part.bias += column;
    part.y = values;
    if (part.n < columns) std::fill_n(values, count * columns, 0.0f);
    kernel(part, /*panel=*/0, /*first=*/0, count);
    take({values, columns, first, count, column, std::min(columns, part.n)});
  });
}

void check_factors(const torch::Tensor& x, const torch::Tensor& weight) {
  const auto fits = [](const torch::Tensor& t) {
    return t.scalar_type() == torch::kFloat && t.device().is_cpu();
  };
  check(
      x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1) && fits(x) && fits(weight),
      "linear: rows of {} ({}) do not fit a weight of {} in fp32 on the CPU", x.size(-1),
      torch::toString(x.scalar_type()), fmt::join(weight.sizes(), "x"));
}

}  // namespace vitrine
