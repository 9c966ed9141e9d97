#include "vitrine/ops/bf16_linear.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/ops/panel_loop.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// A matrix in bf16, two numbers of a row in a word.
struct Bf16Matrix {
  int64_t rows, columns;
  torch::Tensor words;  // (rows, words of a row), int32

  const uint16_t* row(int64_t i) const {
    return reinterpret_cast<const uint16_t*>(words.data_ptr<int32_t>() + i * words.size(1));
  }
  int64_t row_pairs() const { return kernels::words_of(rows, kernels::kBf16PerWord); }
};

/// A factor of products that sum over `words`: one row or panel column for each of `n` outputs.
struct Factor {
  int64_t n;
  torch::Tensor words;  // rows: (n, words); panels: (panels, words, columns)
};

template <typename Convert>
void for_all(int64_t count, int64_t numbers_of_one, const Convert& convert) {
  at::parallel_for(0, count, items_per_task(kConversionsPerTask, numbers_of_one),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) convert(i);
                   });
}

Bf16Matrix rounded(const torch::Tensor& x) {
  const auto rows = x.size(0), columns = x.size(1);
  const auto width = kernels::words_of(columns, kernels::kBf16PerWord);
  auto words = torch::empty({rows, width}, torch::kInt);
  const auto* in = x.data_ptr<float>();
  auto* out = words.data_ptr<int32_t>();
  for_all(rows, columns,
          [&](int64_t i) { kernels::round_row(in + i * columns, columns, out + i * width); });
  return {rows, columns, words};
}

/// Panels for products that sum over the columns, with an output for each row.
Factor panels_of_rows(const Bf16Matrix& m) {
  const auto layout = kernels::packed_layout();
  const auto width = m.words.size(1), columns = layout.columns;
  auto panels = torch::empty({layout.panels(m.rows), width, columns}, torch::kInt);
  const auto* in = m.words.data_ptr<int32_t>();
  auto* out = panels.data_ptr<int32_t>();
  for_all(panels.size(0), columns * m.columns,
          [&](int64_t panel) { kernels::pack_words(in, m.rows, width, layout, panel, out); });
  return {m.rows, panels};
}

/// Panels for products that sum over the rows, with an output for each column.
Factor panels_of_columns(const Bf16Matrix& m) {
  const auto layout = kernels::packed_layout();
  const auto pairs = m.row_pairs(), columns = layout.columns;
  auto panels = torch::empty({layout.panels(m.columns), pairs, columns}, torch::kInt);
  auto* out = panels.data_ptr<int32_t>();
  for_all(panels.size(0), columns * m.rows, [&](int64_t p) {
    const auto first = p * columns, inside = std::min(columns, m.columns - first);
    for (int64_t pair = 0; pair < pairs; ++pair) {
      auto* words = out + (p * pairs + pair) * columns;
      const auto* odd = 2 * pair + 1 < m.rows ? m.row(2 * pair + 1) + first : nullptr;
      kernels::interleave_rows(m.row(2 * pair) + first, odd, inside, words);
      std::fill(words + inside, words + columns, 0);
    }
  });
  return {m.columns, panels};
}

/// Rows for products that sum over the rows: one for each column.
Factor rows_of_columns(const Bf16Matrix& m) {
  constexpr int64_t kBlock = 64;  // columns that are transposed at a time
  const auto pairs = m.row_pairs();
  auto words = torch::empty({m.columns, pairs}, torch::kInt);
  auto* out = words.data_ptr<int32_t>();
  for_all((m.columns + kBlock - 1) / kBlock, kBlock * m.rows, [&](int64_t block) {
    constexpr int64_t kPairs = 16;
    const auto first = block * kBlock, inside = std::min(kBlock, m.columns - first);
    int32_t some[kPairs * kBlock];
    for (int64_t pair = 0; pair < pairs; pair += kPairs) {
      const auto count = std::min(kPairs, pairs - pair);
      for (int64_t i = 0; i < count; ++i) {
        const auto row = 2 * (pair + i);
        const auto* odd = row + 1 < m.rows ? m.row(row + 1) + first : nullptr;
        kernels::interleave_rows(m.row(row) + first, odd, inside, some + i * kBlock);
      }
      kernels::transpose_words(some, kBlock, count, inside, out + first * pairs + pair, pairs);
    }
  });
  return {m.columns, words};
}

Factor rows_of(const Bf16Matrix& m) { return {m.rows, m.words}; }

/// (rows, panels' outputs), in fp32.
torch::Tensor product(const Factor& rows, const Factor& panels, const torch::Tensor& bias = {}) {
  const auto layout = kernels::packed_layout();
  const auto M = rows.n, N = panels.n, words = rows.words.size(1);
  auto padded = torch::zeros({panels.words.size(0) * layout.columns});
  if (bias.defined()) padded.narrow(0, 0, N).copy_(bias);
  auto y = torch::empty({M, N});
  const kernels::PackedProduct p{.n = N,
                                 .words = words,
                                 .rows = rows.words.data_ptr<int32_t>(),
                                 .panels = panels.words.data_ptr<int32_t>(),
                                 .bias = padded.data_ptr<float>(),
                                 .y = y.data_ptr<float>()};
  for_all_panels(M, N, words * kernels::kBf16PerWord, layout,
                 [&](int64_t panel, int64_t first, int64_t count) {
                   kernels::bf16_product(p, panel, first, count);
                 });
  return y;
}

torch::Tensor matrix(const torch::Tensor& x) { return x.reshape({-1, x.size(-1)}).contiguous(); }

struct Bf16Linear : torch::autograd::Function<Bf16Linear> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& weight,
                               const c10::optional<torch::Tensor>& bias) {
    const auto in = rounded(matrix(x));
    ctx->save_for_backward({in.words, weight});
    ctx->saved_data["shape"] = x.sizes().vec();
    ctx->saved_data["bias"] = bias.has_value();
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return product(rows_of(in), panels_of_rows(rounded(weight.contiguous())),
                   bias.value_or(torch::Tensor()))
        .view(shape);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto shape = ctx->saved_data["shape"].toIntVector();
    const auto& weight = saved[1];
    const auto dy = matrix(gradients[0]);  // (M, N)
    const auto d_out = rounded(dy);
    tensor_list result(3);
    if (ctx->needs_input_grad(0))
      result[0] =
          product(rows_of(d_out), panels_of_columns(rounded(weight.contiguous()))).view(shape);
    if (ctx->needs_input_grad(1)) {
      const Bf16Matrix in{dy.size(0), weight.size(1), saved[0]};
      result[1] = product(rows_of_columns(d_out), panels_of_columns(in));
    }
    if (ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2)) result[2] = dy.sum(0);
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
