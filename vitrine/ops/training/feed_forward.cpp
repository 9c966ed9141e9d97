#include "vitrine/ops/training/feed_forward.h"

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <optional>

#include "vitrine/core/error.h"
#include "vitrine/kernels/activation.h"
#include "vitrine/ops/optional_tensor.h"
#include "vitrine/ops/random_key.h"
#include "vitrine/ops/training/hidden_tiles.h"
#include "vitrine/ops/training/product.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

struct TrainingFeedForward : torch::autograd::Function<TrainingFeedForward> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& weight1, const torch::Tensor& weight2,
                               const OptionalTensor& bias1, const OptionalTensor& bias2,
                               Activation activation, double p, Precision precision,
                               bool backward_follows) {
    const bool learns = backward_follows && weight1.requires_grad();
    const auto in =
        to_factor(x, precision, {.group = learns ? kernels::packed_layout().columns : 0});
    const auto M = in.rows.size(0), H = weight1.size(0), N = weight2.size(0);
    const auto key = p > 0 ? static_cast<int64_t>(draw_random_key()) : 0;
    const TileDropout dropout{p, key, H};
    std::optional<ActivationInputs> before;
    if (backward_follows) before.emplace(M, H, precision, activation);
    FactorWriter hidden(M, H, precision, {});
    const TrainingProduct first{precision, packed_rows(weight1, precision), H,
                                bias1.value_or(torch::Tensor())};
    first.tiles_of({in.rows, M}, [&](const Tile& tile) {
      if (before) before->keep(tile);
      kernels::activate(activation, tile.values, tile.numbers(), tile.values);
      dropout.apply(tile);
      hidden.write(tile);
    });
    ctx->save_for_backward(
        {in.groups, weight1, before ? before->numbers() : torch::Tensor(), weight2});
    ctx->saved_data["shape"] = x.sizes().vec();
    ctx->saved_data["bias1"] = bias1.has_value();
    ctx->saved_data["bias2"] = bias2.has_value();
    ctx->saved_data["activation"] = static_cast<int64_t>(activation);
    ctx->saved_data["p"] = p;
    ctx->saved_data["key"] = key;
    ctx->saved_data["precision"] = static_cast<int64_t>(precision);
    const TrainingProduct second{precision, packed_rows(weight2, precision), N,
                                 bias2.value_or(torch::Tensor())};
    auto shape = x.sizes().vec();
    shape.back() = N;
    return second.of({hidden.finish().rows, M}).view(shape);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &in_groups = saved[0], &weight1 = saved[1], &weight2 = saved[3];
    const ActivationInputs before(saved[2],
                                  static_cast<Activation>(ctx->saved_data["activation"].toInt()));
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
    FactorWriter d_before(
        M, H, precision,
        {.rows = for_input, .group = for_weight1 ? kRowsPerTask : 0, .column_sums = for_bias1});
    FactorWriter hidden(
        M, H, precision,
        {.rows = false, .group = for_weight2 ? kernels::packed_layout().columns : 0});
    if (for_input || for_weight1 || for_bias1 || for_weight2)
      product(packed_columns(weight2, precision), H).tiles_of({dy.rows, M}, [&](const Tile& tile) {
        float again[kRowsPerTask * kMostColumns];
        dropout.apply(tile);
        before.backward(tile, /*first_row=*/0, again);
        d_before.write(tile);
        if (!for_weight2) return;
        auto outputs = tile;
        outputs.values = again;
        dropout.apply(outputs);
        hidden.write(outputs);
      });
    const auto d_in = d_before.finish();
    tensor_list result(9);
    if (for_input)
      result[0] = product(packed_columns(weight1, precision), C)
                      .of({d_in.rows, M})
                      .view(ctx->saved_data["shape"].toIntVector());
    if (for_weight1) result[1] = product(in_groups, C).of({d_in.groups, H, /*grouped=*/true});
    if (for_weight2)
      result[2] = product(hidden.finish().groups, H).of({dy.groups, N, /*grouped=*/true});
    result[3] = d_in.column_sums;
    result[4] = dy.column_sums;
    return result;
  }
};

}  // namespace

torch::Tensor training_feed_forward(const torch::Tensor& x, const FeedForwardWeights& w,
                                    Activation activation, double p, Precision precision) {
  check_factors(x, w.weight1);
  check(w.weight2.dim() == 2 && w.weight2.size(1) == w.weight1.size(0),
        "feed_forward: a second weight of {} does not fit {} hidden numbers",
        fmt::join(w.weight2.sizes(), "x"), w.weight1.size(0));
  check(p >= 0 && p < 1, "feed_forward: dropout probability {} is not in [0, 1)", p);
  RECORD_FUNCTION("vitrine::training_feed_forward",
                  std::vector<c10::IValue>({x, w.weight1, w.weight2}));
  return TrainingFeedForward::apply(x, w.weight1, w.weight2, if_defined(w.bias1),
                                    if_defined(w.bias2), activation, p, precision,
                                    torch::GradMode::is_enabled());
}

}  // namespace vitrine
