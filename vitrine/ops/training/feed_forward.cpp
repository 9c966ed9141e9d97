#include "vitrine/ops/training/feed_forward.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/dropout.h"
#include "vitrine/kernels/gelu.h"
#include "vitrine/ops/optional_tensor.h"
#include "vitrine/ops/random_key.h"
#include "vitrine/ops/training/factors.h"

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

/// What GELU got, tile behind tile: in fp32, or rounded to bf16.
struct GeluInputs {
  explicit GeluInputs(torch::Tensor x) : numbers(std::move(x)) {}
  GeluInputs(int64_t M, int64_t H, Precision precision) {
    const auto layout = kernels::packed_layout();
    numbers = torch::empty({layout.panels(H), M, layout.columns},
                           precision == Precision::BFloat16 ? torch::kBFloat16 : torch::kFloat);
  }

  void keep(const Tile& tile) const {
    if (!numbers.defined()) return;
    if (in_bf16())
      kernels::round_row(tile.values, tile.numbers(), of<int32_t>(tile));
    else
      std::copy_n(tile.values, tile.numbers(), of<float>(tile));
  }
  /// Makes gradients of GELU's outputs those of its inputs.
  void backward(const Tile& tile) const {
    if (in_bf16())
      kernels::bf16_gelu_backward(of<int32_t>(tile), tile.numbers(), tile.values);
    else
      kernels::gelu_backward(of<float>(tile), tile.values, tile.numbers(), tile.values);
  }

  torch::Tensor numbers;  // (panels, M, columns of a panel); undefined: not kept

 private:
  bool in_bf16() const { return numbers.scalar_type() == torch::kBFloat16; }
  template <typename Word>
  Word* of(const Tile& tile) const {
    const auto first = tile.column * numbers.size(1) + tile.row * tile.stride;
    auto* bytes = static_cast<char*>(numbers.data_ptr());
    return reinterpret_cast<Word*>(bytes + first * static_cast<int64_t>(numbers.element_size()));
  }
};

struct TrainingFeedForward : torch::autograd::Function<TrainingFeedForward> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& weight1, const torch::Tensor& weight2,
                               const OptionalTensor& bias1, const OptionalTensor& bias2, double p,
                               int64_t chosen, bool backward_follows) {
    const auto precision = static_cast<Precision>(chosen);
    const auto columns = kernels::packed_layout().columns;
    const auto in = to_factor(x, precision,
                              {.group = backward_follows && weight1.requires_grad() ? columns : 0});
    const auto M = in.rows.size(0), H = weight1.size(0), N = weight2.size(0);
    const auto key = p > 0 ? static_cast<int64_t>(draw_random_key()) : 0;
    const TileDropout dropout{p, key, H};
    const auto before =
        backward_follows ? GeluInputs(M, H, precision) : GeluInputs(torch::Tensor());
    FactorWriter hidden(M, H, precision,
                        {.group = backward_follows && weight2.requires_grad() ? columns : 0});
    const TrainingProduct first{precision, packed_rows(weight1, precision), H,
                                bias1.value_or(torch::Tensor())};
    first.tiles_of({in.rows, M}, [&](const Tile& tile) {
      before.keep(tile);
      kernels::gelu(tile.values, tile.numbers(), tile.values);
      dropout.apply(tile);
      hidden.write(tile);
    });
    const auto out = hidden.finish();
    ctx->save_for_backward({in.groups, weight1, before.numbers, out.groups, weight2});
    ctx->saved_data["shape"] = x.sizes().vec();
    ctx->saved_data["bias1"] = bias1.has_value();
    ctx->saved_data["bias2"] = bias2.has_value();
    ctx->saved_data["p"] = p;
    ctx->saved_data["key"] = key;
    ctx->saved_data["precision"] = chosen;
    const TrainingProduct second{precision, packed_rows(weight2, precision), N,
                                 bias2.value_or(torch::Tensor())};
    auto shape = x.sizes().vec();
    shape.back() = N;
    return second.of({out.rows, M}).view(shape);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &in_groups = saved[0], &weight1 = saved[1], &hidden_groups = saved[3],
               &weight2 = saved[4];
    const GeluInputs before(saved[2]);
    const auto precision = static_cast<Precision>(ctx->saved_data["precision"].toInt());
    const bool has_bias1 = ctx->saved_data["bias1"].toBool(),
               has_bias2 = ctx->saved_data["bias2"].toBool();
    const auto C = weight1.size(1), H = weight1.size(0), N = weight2.size(0);
    // Inputs are counted without those that are missing.
    const auto wants = [&](size_t i) { return ctx->needs_input_grad(i); };
    const bool for_input = wants(0), for_weight1 = wants(1), for_weight2 = wants(2),
               for_bias1 = has_bias1 && wants(3), for_bias2 = has_bias2 && wants(has_bias1 ? 4 : 3);
    const auto dy =
        to_factor(gradients[0], precision,
                  {.group = for_weight2 ? kRowsPerTask : 0, .column_sums = for_bias2});  // (M, N)
    const auto M = dy.rows.size(0);
    const TileDropout dropout{ctx->saved_data["p"].toDouble(), ctx->saved_data["key"].toInt(), H};
    const auto product = [&](const torch::Tensor& panels, int64_t outputs) {
      return TrainingProduct{precision, panels, outputs};
    };
    tensor_list result(8);
    if (for_input || for_weight1 || for_bias1) {
      FactorWriter writer(
          M, H, precision,
          {.rows = for_input, .group = for_weight1 ? kRowsPerTask : 0, .column_sums = for_bias1});
      product(packed_columns(weight2, precision), H).tiles_of({dy.rows, M}, [&](const Tile& tile) {
        dropout.apply(tile);
        before.backward(tile);
        writer.write(tile);
      });
      const auto d_before = writer.finish();
      if (for_input)
        result[0] = product(packed_columns(weight1, precision), C)
                        .of({d_before.rows, M})
                        .view(ctx->saved_data["shape"].toIntVector());
      if (for_weight1) result[1] = product(in_groups, C).of({d_before.groups, H, /*grouped=*/true});
      result[3] = d_before.column_sums;
    }
    if (for_weight2) result[2] = product(hidden_groups, H).of({dy.groups, N, /*grouped=*/true});
    result[4] = dy.column_sums;
    return result;
  }
};

}  // namespace

torch::Tensor training_feed_forward(const torch::Tensor& x, const FeedForwardWeights& w, double p,
                                    Precision precision) {
  check_factors(x, w.weight1);
  check(w.weight2.dim() == 2 && w.weight2.size(1) == w.weight1.size(0),
        "feed_forward: a second weight of {} does not fit {} hidden numbers",
        fmt::join(w.weight2.sizes(), "x"), w.weight1.size(0));
  check(p >= 0 && p < 1, "feed_forward: dropout probability {} is not in [0, 1)", p);
  RECORD_FUNCTION("vitrine::training_feed_forward",
                  std::vector<c10::IValue>({x, w.weight1, w.weight2}));
  return TrainingFeedForward::apply(x, w.weight1, w.weight2, if_defined(w.bias1),
                                    if_defined(w.bias2), p, static_cast<int64_t>(precision),
                                    torch::GradMode::is_enabled());
}

}  // namespace vitrine
