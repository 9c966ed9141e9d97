#include "vitrine/ops/training/factors.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/packed_product.h"

namespace vitrine {
namespace {

void add_to_sums(const float* row, int64_t n, float* sum) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] += row[i];
}

Factor empty_factor(int64_t M, int64_t K, int64_t per_word, const FactorParts& parts) {
  Factor result;
  if (parts.rows) result.rows = torch::empty({M, kernels::words_of(K, per_word)}, torch::kInt);
  if (parts.group > 0) result.groups = empty_groups(kernels::words_of(M, per_word), K, parts.group);
  return result;
}

int32_t* words_or_null(const torch::Tensor& t) {
  return t.defined() ? t.data_ptr<int32_t>() : nullptr;
}

}  // namespace

int64_t numbers_per_word(Precision precision) {
  return precision == Precision::BFloat16 ? kernels::kBf16PerWord : kernels::kFp32PerWord;
}

WordRows to_words(const float* x, int64_t rows, int64_t K, Precision precision, int32_t* buffer) {
  if (precision != Precision::BFloat16) return {as_words(x), K, rows};
  const auto width = kernels::words_of(K, kernels::kBf16PerWord);
  kernels::round_rows(x, K, rows, K, buffer, width);
  return {buffer, width, rows};
}

void ColumnGroups::write(const float* rows, int64_t stride, int64_t count, int64_t word,
                         int64_t column, int64_t columns) const {
  for (int64_t i = 0; i < columns;) {
    const auto inside = (column + i) % group;
    // Up to the end of the group or of the columns; behind the last column zeros.
    const auto width = std::min(group - inside, columns - i);
    auto* out = words + (column + i - inside) * height + word * group + inside;
    if (per_word == kernels::kBf16PerWord)
      kernels::round_pairs(rows + i, stride, count, width, out, group);
    else
      for (int64_t r = 0; r < count; ++r)
        std::memcpy(out + r * group, rows + r * stride + i, width * sizeof(float));
    if (column + i + width == K)
      for (int64_t r = 0; r < count; r += per_word, out += group)
        std::fill(out + width, out + group - inside, 0);
    i += width;
  }
}

torch::Tensor empty_groups(int64_t height, int64_t K, int64_t group) {
  return torch::empty({(K + group - 1) / group, height, group}, torch::kInt);
}

ColumnGroups column_groups(const torch::Tensor& groups, int64_t K, Precision precision) {
  return {K, groups.size(2), numbers_per_word(precision), groups.size(1),
          groups.data_ptr<int32_t>()};
}

void FactorTarget::write(const Tile& tile) const {
  const auto per_word = numbers_per_word(precision);
  if (rows) {
    auto* to = rows + tile.row * row_words + tile.column / per_word;
    if (precision == Precision::BFloat16)
      kernels::round_rows(tile.values, tile.stride, tile.rows, tile.columns, to, row_words);
    else
      for (int64_t r = 0; r < tile.rows; ++r)
        std::memcpy(to + r * row_words, tile.values + r * tile.stride,
                    tile.columns * sizeof(float));
  }
  if (groups)
    groups->write(tile.values, tile.stride, tile.rows, first_word + tile.row / per_word,
                  tile.column, tile.columns);
  if (block_sums)
    kernels::sum_rows(tile.values, tile.stride, tile.rows, tile.columns,
                      block_sums + tile.row / kRowsPerTask * K + tile.column);
}

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
  ColumnGroups groups{};
  if (result.groups.defined()) groups = column_groups(result.groups, K, precision);
  auto* part_sums = sums.data_ptr<float>();
  const auto convert_part = [&](int64_t part) {
    const auto begin = height * part / parts * per_word,
               end = std::min(M, height * (part + 1) / parts * per_word);
    for (int64_t row = begin; row < end; row += per_word) {
      const auto count = std::min(per_word, end - row);
      if (kept) kernels::round_rows(in + row * K, K, count, K, kept + row * width, width);
      for (int64_t r = 0; r < count && wanted.column_sums; ++r)
        add_to_sums(in + (row + r) * K, K, part_sums + part * K);
      if (groups.words) groups.write(in + row * K, K, count, row / per_word, 0, K);
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
    : factor_(empty_factor(M, K, numbers_per_word(precision), parts)),
      target_{.precision = precision, .rows = words_or_null(factor_.rows), .K = K} {
  if (parts.rows) target_.row_words = factor_.rows.size(1);
  if (parts.group > 0) {
    groups_ = column_groups(factor_.groups, K, precision);
    target_.groups = &groups_;
  }
  if (!parts.column_sums) return;
  block_sums_ = torch::empty({(M + kRowsPerTask - 1) / kRowsPerTask, K});
  target_.block_sums = block_sums_.data_ptr<float>();
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
  at::parallel_for(
      0, panels.size(0), items_per_task(kConversionsPerTask, columns * K),
      [&](int64_t begin, int64_t end) {
        std::vector<int32_t> rounded(per_word == 1 ? 0 : columns * width);
        for (int64_t panel = begin; panel < end; ++panel) {
          const auto first = panel * columns, count = std::min(columns, N - first);
          const auto words = to_words(in + first * K, count, K, precision, rounded.data());
          kernels::pack_words(words.words, count, width, layout, /*panel=*/0, out + first * width);
        }
      });
  return panels;
}

torch::Tensor packed_columns(const torch::Tensor& weight, Precision precision) {
  const auto columns = kernels::packed_layout().columns;
  return to_factor(weight, precision, {.rows = false, .group = columns}).groups;
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
