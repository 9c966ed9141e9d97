#include "vitrine/ops/bf16/feed_forward.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/gelu.h"
#include "vitrine/ops/bf16/matrix.h"
#include "vitrine/ops/random_key.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// Dropout of a matrix (M, H), tile by tile.
struct TileDropout {
  double p;
  int64_t key, H;

  void apply(const Tile& tile) const {
    if (p == 0) return;
    for (int64_t r = 0; r < tile.rows; ++r) {
      auto* row = tile.values + r * tile.stride;
      kernels::dropout(row, row, tile.columns, static_cast<float>(p), static_cast<uint64_t>(key),
                       static_cast<uint64_t>((tile.row + r) * H + tile.column));
    }
  }
};

/// What GELU got, in bf16, tile behind tile.
struct GeluInputs {
  explicit GeluInputs(torch::Tensor w) : words(std::move(w)) {}
  GeluInputs(int64_t M, int64_t H) {
    const auto layout = kernels::packed_layout();
    words =
        torch::empty({layout.panels(H), M, layout.columns / kernels::kBf16PerWord}, torch::kInt);
  }
  int32_t* of(const Tile& tile) const {
    return words.data_ptr<int32_t>() + (tile.column * words.size(1) + tile.row * tile.stride) / 2;
  }

  torch::Tensor words;  // (panels, M, words of a panel's columns)
};

struct Bf16FeedForward : torch::autograd::Function<Bf16FeedForward> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& weight1, const torch::Tensor& weight2,
                               const c10::optional<torch::Tensor>& bias1,
                               const c10::optional<torch::Tensor>& bias2, double p) {
    const auto columns = kernels::packed_layout().columns;
    const auto in = to_bf16(x, {.group = weight1.requires_grad() ? columns : 0});
    const auto M = in.rows.size(0), H = weight1.size(0);
    const auto key = p > 0 ? static_cast<int64_t>(draw_random_key()) : 0;
    const TileDropout dropout{p, key, H};
    const GeluInputs before(M, H);
    Bf16TileWriter hidden(M, H, {.group = weight2.requires_grad() ? columns : 0});
    bf16_product_tiles({in.rows, M}, packed_rows(weight1), H, bias1.value_or(torch::Tensor()),
                       [&](const Tile& tile) {
                         kernels::round_row(tile.values, tile.numbers(), before.of(tile));
                         kernels::gelu(tile.values, tile.numbers(), tile.values);
                         dropout.apply(tile);
                         hidden.write(tile);
                       });
    const auto out = hidden.finish();
    ctx->save_for_backward({in.groups, weight1, before.words, out.groups, weight2});
    ctx->saved_data["shape"] = x.sizes().vec();
    ctx->saved_data["bias1"] = bias1.has_value();
    ctx->saved_data["bias2"] = bias2.has_value();
    ctx->saved_data["p"] = p;
    ctx->saved_data["key"] = key;
    auto shape = x.sizes().vec();
    shape.back() = weight2.size(0);
    return bf16_product({out.rows, M}, packed_rows(weight2), weight2.size(0),
                        bias2.value_or(torch::Tensor()))
        .view(shape);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &in_groups = saved[0], &weight1 = saved[1], &hidden_groups = saved[3],
               &weight2 = saved[4];
    const GeluInputs before(saved[2]);
    const bool has_bias1 = ctx->saved_data["bias1"].toBool(),
               has_bias2 = ctx->saved_data["bias2"].toBool();
    const auto C = weight1.size(1), H = weight1.size(0), N = weight2.size(0);
    // Inputs are counted without those that are missing.
    const auto wants = [&](size_t i) { return ctx->needs_input_grad(i); };
    const bool for_input = wants(0), for_weight1 = wants(1), for_weight2 = wants(2),
               for_bias1 = has_bias1 && wants(3), for_bias2 = has_bias2 && wants(has_bias1 ? 4 : 3);
    const auto dy = to_bf16(gradients[0], {.group = for_weight2 ? kRowsPerTask : 0,
                                           .column_sums = for_bias2});  // (M, N)
    const auto M = dy.rows.size(0);
    const TileDropout dropout{ctx->saved_data["p"].toDouble(), ctx->saved_data["key"].toInt(), H};
    tensor_list result(6);
    if (for_input || for_weight1 || for_bias1) {
      Bf16TileWriter writer(
          M, H,
          {.rows = for_input, .group = for_weight1 ? kRowsPerTask : 0, .column_sums = for_bias1});
      bf16_product_tiles({dy.rows, M}, packed_columns(weight2), H, {}, [&](const Tile& tile) {
        dropout.apply(tile);
        kernels::bf16_gelu_backward(before.of(tile), tile.numbers(), tile.values);
        writer.write(tile);
      });
      const auto d_before = writer.finish();
      if (for_input)
        result[0] = bf16_product({d_before.rows, M}, packed_columns(weight1), C)
                        .view(ctx->saved_data["shape"].toIntVector());
      if (for_weight1)
        result[1] = bf16_product({d_before.groups, H, /*grouped=*/true}, in_groups, C);
      result[3] = d_before.column_sums;
    }
    if (for_weight2) result[2] = bf16_product({dy.groups, N, /*grouped=*/true}, hidden_groups, H);
    result[4] = dy.column_sums;
    return result;
  }
};

c10::optional<torch::Tensor> if_defined(const torch::Tensor& t) {
  return t.defined() ? c10::optional<torch::Tensor>(t) : c10::optional<torch::Tensor>();
}

}  // namespace

torch::Tensor bf16_feed_forward(const torch::Tensor& x, const FeedForwardWeights& w, double p) {
  check_bf16_factors(x, w.weight1);
  check(w.weight2.dim() == 2 && w.weight2.size(1) == w.weight1.size(0),
        "feed_forward: a second weight of {} does not fit {} hidden numbers",
        fmt::join(w.weight2.sizes(), "x"), w.weight1.size(0));
  check(p >= 0 && p < 1, "feed_forward: dropout probability {} is not in [0, 1)", p);
  RECORD_FUNCTION("vitrine::bf16_feed_forward",
                  std::vector<c10::IValue>({x, w.weight1, w.weight2}));
  return Bf16FeedForward::apply(x, w.weight1, w.weight2, if_defined(w.bias1), if_defined(w.bias2),
                                p);
}

}  // namespace vitrine
