#include "vitrine/ops/bf16_linear.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/ops/panel_loop.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// A matrix (M, K) as products read it, in words of two bf16 numbers.
struct Bf16Matrix {
  torch::Tensor rows{};  // (M, words of a row): for products that sum over the columns
  /// (groups, pairs of rows, columns of a group): for products that sum over the rows. Columns
  /// beyond the last are 0.
  torch::Tensor groups{};
  torch::Tensor column_sums{};  // (K), of the numbers in fp32
};

struct Conversion {
  bool keep_rows = true;
  int64_t group = 0;  // columns of a group; 0: no groups
  bool sum_columns = false;
};

/// Two rows that follow each other, the second null behind the last.
struct RowPair {
  const uint16_t *even, *odd;
};

void write_groups(const RowPair& rows, int64_t columns, int64_t group, int64_t pair, int64_t pairs,
                  int32_t* groups) {
  for (int64_t first = 0; first < columns; first += group) {
    const auto inside = std::min(group, columns - first);
    auto* words = groups + first * pairs + pair * group;
    kernels::interleave_rows(rows.even + first, rows.odd ? rows.odd + first : nullptr, inside,
                             words);
    std::fill(words + inside, words + group, 0);
  }
}

/// One pass over the numbers. Sums are made in parts that do not depend on the number of threads.
Bf16Matrix rounded(const torch::Tensor& x, const Conversion& c) {
  constexpr int64_t kParts = 16;
  const auto M = x.size(0), K = x.size(1);
  const auto width = kernels::words_of(K, kernels::kBf16PerWord);
  const auto pairs = kernels::words_of(M, kernels::kBf16PerWord), parts = std::min(kParts, pairs);
  Bf16Matrix result;
  if (c.keep_rows) result.rows = torch::empty({M, width}, torch::kInt);
  if (c.group > 0)
    result.groups = torch::empty({(K + c.group - 1) / c.group, pairs, c.group}, torch::kInt);
  auto sums = torch::zeros({c.sum_columns ? parts : 0, K});
  const auto* in = x.data_ptr<float>();
  auto* kept = c.keep_rows ? result.rows.data_ptr<int32_t>() : nullptr;
  auto* groups = c.group > 0 ? result.groups.data_ptr<int32_t>() : nullptr;
  auto* part_sums = sums.data_ptr<float>();
  const auto convert_part = [&](int64_t part) {
    std::vector<int32_t> two_rows(kept ? 0 : 2 * width);
    for (int64_t pair = pairs * part / parts; pair < pairs * (part + 1) / parts; ++pair) {
      const auto first = 2 * pair, count = std::min<int64_t>(2, M - first);
      auto* words = kept ? kept + first * width : two_rows.data();
      for (int64_t r = 0; r < count; ++r) {
        const float* row = in + (first + r) * K;
        kernels::round_row(row, K, words + r * width);
        if (!c.sum_columns) continue;
        float* sum = part_sums + part * K;
        for (int64_t i = 0; i < K; ++i) sum[i] += row[i];
      }
      if (groups == nullptr) continue;
      const auto* even = reinterpret_cast<const uint16_t*>(words);
      write_groups({even, count == 2 ? even + 2 * width : nullptr}, K, c.group, pair, pairs,
                   groups);
    }
  };
  at::parallel_for(0, parts, items_per_task(kConversionsPerTask, M * K / parts),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t part = begin; part < end; ++part) convert_part(part);
                   });
  if (c.sum_columns) result.column_sums = sums.sum(0);
  return result;
}

/// The panels of a weight (N, K), for products that sum over its columns.
torch::Tensor packed_rows(const torch::Tensor& weight) {
  const auto layout = kernels::packed_layout();
  const auto N = weight.size(0), K = weight.size(1), columns = layout.columns;
  const auto width = kernels::words_of(K, kernels::kBf16PerWord);
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

/// The factor that makes the rows of a product, a part of it at a time.
struct RowFactor {
  torch::Tensor words;  // `rows` of a matrix, or its `groups` of kRowsPerTask columns
  int64_t n;
  bool grouped;
};

/// (rows, N) in fp32; `panels` is (panels, words, columns).
torch::Tensor product(const RowFactor& rows, const torch::Tensor& panels, int64_t N,
                      const torch::Tensor& bias = {}) {
  const auto layout = kernels::packed_layout();
  const auto words = panels.size(1);
  const auto padded = padded_bias(bias, N, layout);
  auto y = torch::empty({rows.n, N});
  const kernels::PackedProduct all{.n = N,
                                   .words = words,
                                   .rows = rows.words.data_ptr<int32_t>(),
                                   .row_stride = rows.grouped ? 1 : words,
                                   .word_stride = rows.grouped ? kRowsPerTask : 1,
                                   .panels = panels.data_ptr<int32_t>(),
                                   .bias = values_or_null(padded),
                                   .y = y.data_ptr<float>(),
                                   .y_stride = N};
  for_all_panels(rows.n, N, words * kernels::kBf16PerWord, layout,
                 [&](int64_t panel, int64_t first, int64_t count) {
                   auto p = all;
                   p.rows += first * words;
                   p.y += first * N;
                   kernels::bf16_product(p, panel, /*first=*/0, count);
                 });
  return y;
}

torch::Tensor matrix(const torch::Tensor& x) { return x.reshape({-1, x.size(-1)}).contiguous(); }

struct Bf16Linear : torch::autograd::Function<Bf16Linear> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& weight,
                               const c10::optional<torch::Tensor>& bias) {
    const auto rows = matrix(x);
    const auto group = weight.requires_grad() ? kernels::packed_layout().columns : 0;
    const auto in = rounded(rows, {.group = group});
    ctx->save_for_backward({in.groups, weight});
    ctx->saved_data["shape"] = x.sizes().vec();
    ctx->saved_data["bias"] = bias.has_value();
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return product({in.rows, rows.size(0), /*grouped=*/false}, packed_rows(weight.contiguous()),
                   weight.size(0), bias.value_or(torch::Tensor()))
        .view(shape);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto shape = ctx->saved_data["shape"].toIntVector();
    const auto &in_groups = saved[0], &weight = saved[1];
    const auto N = weight.size(0), K = weight.size(1);
    const auto dy = matrix(gradients[0]);  // (M, N)
    const bool for_input = ctx->needs_input_grad(0), for_weight = ctx->needs_input_grad(1),
               for_bias = ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2);
    const auto d_out = rounded(
        dy,
        {.keep_rows = for_input, .group = for_weight ? kRowsPerTask : 0, .sum_columns = for_bias});
    tensor_list result(3);
    if (for_input) {
      const auto panels = rounded(weight.contiguous(),
                                  {.keep_rows = false, .group = kernels::packed_layout().columns});
      result[0] =
          product({d_out.rows, dy.size(0), /*grouped=*/false}, panels.groups, K).view(shape);
    }
    if (for_weight) result[1] = product({d_out.groups, N, /*grouped=*/true}, in_groups, K);
    result[2] = d_out.column_sums;
    return result;
  }
};

}  // namespace

torch::Tensor bf16_linear(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias) {
  const auto fits = [](const torch::Tensor& t) {
    return t.scalar_type() == torch::kFloat && t.device().is_cpu();
  };
  check(
      x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1) && fits(x) && fits(weight),
      "linear: rows of {} ({}) do not fit a weight of {} in fp32 on the CPU", x.size(-1),
      torch::toString(x.scalar_type()), fmt::join(weight.sizes(), "x"));
  RECORD_FUNCTION("vitrine::bf16_linear", std::vector<c10::IValue>({x, weight}));
  const auto optional_bias =
      bias.defined() ? c10::optional<torch::Tensor>(bias) : c10::optional<torch::Tensor>();
  return Bf16Linear::apply(x, weight, optional_bias);
}

}  // namespace vitrine
