#include "vitrine/ops/bf16/matrix.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"

namespace vitrine {
namespace {

/// Two rows that follow each other, the second null behind the last.
struct RowPair {
  const uint16_t *even, *odd;
};

void write_row_groups(const RowPair& rows, int64_t columns, int64_t group, int64_t pair,
                      int64_t pairs, int32_t* groups) {
  for (int64_t first = 0; first < columns; first += group) {
    const auto inside = std::min(group, columns - first);
    auto* words = groups + first * pairs + pair * group;
    kernels::interleave_rows(rows.even + first, rows.odd ? rows.odd + first : nullptr, inside,
                             words);
    std::fill(words + inside, words + group, 0);
  }
}

void add_row(const float* row, int64_t n, float* sum) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] += row[i];
}

int64_t words_of_row(int64_t K) { return kernels::words_of(K, kernels::kBf16PerWord); }

Bf16Matrix empty_matrix(int64_t M, int64_t K, const Bf16Parts& parts) {
  const auto pairs = words_of_row(M);
  Bf16Matrix result;
  if (parts.rows) result.rows = torch::empty({M, words_of_row(K)}, torch::kInt);
  if (parts.group > 0)
    result.groups =
        torch::empty({(K + parts.group - 1) / parts.group, pairs, parts.group}, torch::kInt);
  return result;
}

kernels::PackedProduct product_of(const RowFactor& rows, const torch::Tensor& panels, int64_t N,
                                  const float* bias, float* y, int64_t y_stride) {
  return {.n = N,
          .words = panels.size(1),
          .rows = rows.words.data_ptr<int32_t>(),
          .row_stride = rows.grouped ? 1 : panels.size(1),
          .word_stride = rows.grouped ? kRowsPerTask : 1,
          .panels = panels.data_ptr<int32_t>(),
          .bias = bias,
          .y = y,
          .y_stride = y_stride};
}

/// How many products each output of the panels sums.
int64_t numbers_of(const torch::Tensor& panels) { return panels.size(1) * kernels::kBf16PerWord; }

int32_t* words_or_null(const torch::Tensor& t) {
  return t.defined() ? t.data_ptr<int32_t>() : nullptr;
}

}  // namespace

Bf16Matrix to_bf16(const torch::Tensor& matrix, const Bf16Parts& wanted) {
  constexpr int64_t kParts = 16;
  const auto x = as_matrix(matrix);
  const auto M = x.size(0), K = x.size(1), width = words_of_row(K);
  const auto pairs = words_of_row(M), parts = std::min(kParts, pairs);
  auto result = empty_matrix(M, K, wanted);
  auto sums = torch::zeros({wanted.column_sums ? parts : 0, K});
  const auto* in = x.data_ptr<float>();
  auto *kept = words_or_null(result.rows), *groups = words_or_null(result.groups);
  auto* part_sums = sums.data_ptr<float>();
  const auto convert_part = [&](int64_t part) {
    std::vector<int32_t> two_rows(kept ? 0 : 2 * width);
    for (int64_t pair = pairs * part / parts; pair < pairs * (part + 1) / parts; ++pair) {
      const auto first = 2 * pair, count = std::min<int64_t>(2, M - first);
      auto* words = kept ? kept + first * width : two_rows.data();
      for (int64_t r = 0; r < count; ++r) {
        const float* row = in + (first + r) * K;
        kernels::round_row(row, K, words + r * width);
        if (wanted.column_sums) add_row(row, K, part_sums + part * K);
      }
      if (groups == nullptr) continue;
      const auto* even = reinterpret_cast<const uint16_t*>(words);
      write_row_groups({even, count == 2 ? even + 2 * width : nullptr}, K, wanted.group, pair,
                       pairs, groups);
    }
  };
  at::parallel_for(0, parts, items_per_task(kConversionsPerTask, M * K / parts),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t part = begin; part < end; ++part) convert_part(part);
                   });
  if (wanted.column_sums) result.column_sums = sums.sum(0);
  return result;
}

Bf16TileWriter::Bf16TileWriter(int64_t M, int64_t K, const Bf16Parts& parts)
    : M_(M), K_(K), group_(parts.group), matrix_(empty_matrix(M, K, parts)) {
  if (parts.column_sums) block_sums_ = torch::empty({(M + kRowsPerTask - 1) / kRowsPerTask, K});
}

void Bf16TileWriter::write(const Tile& tile) {
  uint16_t halves[kRowsPerTask * kMostColumns];
  kernels::round_row(tile.values, tile.numbers(), reinterpret_cast<int32_t*>(halves));
  if (matrix_.rows.defined()) {
    const auto width = words_of_row(K_), tile_width = words_of_row(tile.columns);
    auto* words = matrix_.rows.data_ptr<int32_t>() + tile.row * width + tile.column / 2;
    for (int64_t r = 0; r < tile.rows; ++r)
      std::memcpy(words + r * width, halves + r * tile.stride, tile_width * sizeof(int32_t));
  }
  if (matrix_.groups.defined()) write_groups(halves, tile);
  if (block_sums_.defined())
    kernels::sum_rows(tile.values, tile.stride, tile.rows, tile.columns,
                      block_sums_.data_ptr<float>() + tile.row / kRowsPerTask * K_ + tile.column);
}

void Bf16TileWriter::write_groups(const uint16_t* halves, const Tile& tile) {
  const auto pairs = words_of_row(M_);
  for (int64_t i = 0; i < tile.columns;) {
    const auto column = tile.column + i, inside = column % group_;
    // Up to the end of the group or of the tile; behind the last column with zeros.
    const auto count = std::min(group_ - inside, tile.columns - i);
    auto* words = matrix_.groups.data_ptr<int32_t>() + (column - inside) * pairs +
                  tile.row / 2 * group_ + inside;
    kernels::interleave_pairs(halves + i, tile.stride, tile.rows, count, words, group_);
    if (column + count == K_)
      for (int64_t r = 0; r < tile.rows; r += 2, words += group_)
        std::fill(words + count, words + group_ - inside, 0);
    i += count;
  }
}

Bf16Matrix Bf16TileWriter::finish() const {
  auto result = matrix_;
  if (block_sums_.defined()) result.column_sums = block_sums_.sum(0);
  return result;
}

torch::Tensor packed_rows(const torch::Tensor& weight_or_view) {
  const auto weight = weight_or_view.contiguous();
  const auto layout = kernels::packed_layout();
  const auto N = weight.size(0), K = weight.size(1), columns = layout.columns;
  const auto width = words_of_row(K);
  auto panels = torch::empty({layout.panels(N), width, columns}, torch::kInt);
  const auto* in = weight.data_ptr<float>();
  auto* out = panels.data_ptr<int32_t>();
  at::parallel_for(0, panels.size(0), items_per_task(kConversionsPerTask, columns * K),
                   [&](int64_t begin, int64_t end) {
                     std::vector<int32_t> words(columns * width);
                     for (int64_t panel = begin; panel < end; ++panel) {
                       const auto first = panel * columns, count = std::min(columns, N - first);
                       for (int64_t r = 0; r < count; ++r)
                         kernels::round_row(in + (first + r) * K, K, words.data() + r * width);
                       kernels::pack_words(words.data(), count, width, layout, /*panel=*/0,
                                           out + first * width);
                     }
                   });
  return panels;
}

torch::Tensor packed_columns(const torch::Tensor& weight) {
  return to_bf16(weight, {.rows = false, .group = kernels::packed_layout().columns}).groups;
}

torch::Tensor bf16_product(const RowFactor& rows, const torch::Tensor& panels, int64_t N,
                           const torch::Tensor& bias) {
  const auto layout = kernels::packed_layout();
  const auto padded = padded_bias(bias, N, layout);
  auto y = torch::empty({rows.n, N});
  const auto all = product_of(rows, panels, N, values_or_null(padded), y.data_ptr<float>(), N);
  for_all_panels(rows.n, N, numbers_of(panels), layout,
                 [&](int64_t panel, int64_t first, int64_t count) {
                   auto p = all;
                   p.rows += first * p.words;
                   p.y += first * N;
                   kernels::bf16_product(p, panel, /*first=*/0, count);
                 });
  return y;
}

void bf16_product_tiles(const RowFactor& rows, const torch::Tensor& panels, int64_t N,
                        const torch::Tensor& bias, const std::function<void(const Tile&)>& take) {
  const auto layout = kernels::packed_layout();
  const auto columns = layout.columns;
  const auto padded = padded_bias(bias, N, layout);
  const auto all = product_of(rows, panels, N, values_or_null(padded), nullptr, columns);
  for_all_panels(rows.n, N, numbers_of(panels), layout,
                 [&](int64_t panel, int64_t first, int64_t count) {
                   float values[kRowsPerTask * kMostColumns];
                   const auto column = panel * columns;
                   auto p = all;  // of this panel alone
                   p.n -= column;
                   p.rows += first * p.words;
                   p.panels += column * p.words;
                   if (p.bias) p.bias += column;
                   p.y = values;
                   if (p.n < columns) std::fill_n(values, count * columns, 0.0f);
                   kernels::bf16_product(p, /*panel=*/0, /*first=*/0, count);
                   take({values, columns, first, count, column, std::min(columns, p.n)});
                 });
}

void check_bf16_factors(const torch::Tensor& x, const torch::Tensor& weight) {
  const auto fits = [](const torch::Tensor& t) {
    return t.scalar_type() == torch::kFloat && t.device().is_cpu();
  };
  check(
      x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1) && fits(x) && fits(weight),
      "linear: rows of {} ({}) do not fit a weight of {} in fp32 on the CPU", x.size(-1),
      torch::toString(x.scalar_type()), fmt::join(weight.sizes(), "x"));
}

}  // namespace vitrine
