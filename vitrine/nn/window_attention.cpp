#include "vitrine/nn/window_attention.h"

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/dropout.h"

namespace vitrine {
namespace {

constexpr double kHidden = -100;  // added to a score, as in the published code
constexpr double kFirstScale = 10, kLargestScale = 100, kLargestBias = 16;
constexpr int64_t kBiasNetworkWidth = 512;

/// The region of a line of the shifted grid to which each token belongs: 0, 1 or 2. Only tokens of
/// one region were neighbours before the shift.
torch::Tensor regions(const WindowConfig& c) {
  const auto line = torch::arange(c.side, torch::kLong);
  return line.ge(c.side - c.window).to(torch::kLong) + line.ge(c.side - c.shift).to(torch::kLong);
}

const WindowConfig& validated(const WindowConfig& c) {
  c.validate();
  return c;
}

}  // namespace

void WindowConfig::validate() const {
  check(side > 0 && window > 0 && side % window == 0,
        "windows: a window of {} does not divide a grid of {} x {} tokens; choose one that does",
        window, side, side);
  check(shift >= 0 && shift < window, "windows: shift {} is not between 0 and the window {}", shift,
        window);
}

Windows::Windows(const WindowConfig& c) : config_(validated(c)) {
  const auto S = config_.side, w = config_.window, s = config_.shift;
  if (S == w && s == 0) return;
  const auto places = torch::arange(S * S, torch::kLong);
  order_ = by_window(places.view({S, S}).roll({-s, -s}, {0, 1})).flatten();
  inverse_ = places.view({rows(), rows(), w, w})
                 .permute({0, 2, 1, 3})
                 .reshape({S, S})
                 .roll({s, s}, {0, 1})
                 .flatten();
  if (s == 0) return;
  const auto line = regions(config_);
  const auto region = by_window(3 * line.unsqueeze(1) + line);  // (W, N)
  mask_ = region.unsqueeze(2).ne(region.unsqueeze(1)).to(torch::kFloat) * kHidden;
  mask_ = mask_.unsqueeze(1);  // (W, 1, N, N)
}

torch::Tensor Windows::by_window(const torch::Tensor& grid) const {
  const auto w = config_.window;
  return grid.reshape({rows(), w, rows(), w}).permute({0, 2, 1, 3}).reshape({count(), tokens()});
}

torch::Tensor Windows::reordered(const torch::Tensor& x, const torch::Tensor& order) {
  return order.defined() ? x.index_select(1, order.to(x.device())) : x;
}

torch::Tensor Windows::spread(const torch::Tensor& weights) const {
  const auto B = weights.size(0), W = weights.size(1), H = weights.size(2), N = weights.size(3);
  if (!inverse_.defined()) return weights.squeeze(1);
  const auto own = torch::eye(W, weights.options()).view({W, 1, W, 1});
  const auto blocks = weights.permute({0, 2, 1, 3, 4}).unsqueeze(4) * own;  // (B, H, W, N, W, N)
  const auto inverse = inverse_.to(weights.device());
  return blocks.reshape({B, H, W * N, W * N}).index_select(2, inverse).index_select(3, inverse);
}

torch::Tensor relative_position_index(int64_t window) {
  const auto line = torch::arange(window, torch::kLong);
  const auto row = line.unsqueeze(1).expand({window, window}).reshape({-1});  // of each token
  const auto column = line.unsqueeze(0).expand({window, window}).reshape({-1});
  const auto apart = [&](const torch::Tensor& t) {
    return t.unsqueeze(1) - t.unsqueeze(0) + (window - 1);  // query - key, from 0
  };
  return (apart(row) * (2 * window - 1) + apart(column)).flatten();
}

torch::Tensor log_relative_positions(int64_t window, int64_t pretrained) {
  const auto span = static_cast<double>(std::max<int64_t>(pretrained - 1, 1));
  const auto line = torch::arange(1 - window, window, torch::kFloat) * (8 / span);
  const auto sign = line.sign();
  const auto scaled = sign * (line * sign + 1).log2() / 3;
  const auto L = 2 * window - 1;
  return torch::stack({scaled.unsqueeze(1).expand({L, L}), scaled.unsqueeze(0).expand({L, L})}, -1)
      .flatten(0, 1);
}

WindowAttentionImpl::WindowAttentionImpl(const WindowAttentionConfig& c, bool qkv_bias)
    : SelfAttentionImpl(AttentionConfig{.dim = c.dim,
                                        .heads = c.heads,
                                        .qkv_bias = qkv_bias,
                                        .dropout = c.dropout,
                                        .attention_dropout = c.attention_dropout,
                                        .grid = {c.windows.side, c.windows.side}}),
      windows(c.windows),
      position_index_(relative_position_index(c.windows.window)) {}

torch::Tensor WindowAttentionImpl::score_bias() {
  const auto N = windows.tokens();
  const auto table = bias_table();
  const auto bias = table.index_select(0, position_index_.to(table.device()))
                        .view({1, N, N, config.heads})
                        .permute({0, 3, 1, 2});  // (1, H, N, N)
  return windows.mask().defined() ? bias + windows.mask().to(bias.options()) : bias;
}

torch::Tensor WindowAttentionImpl::forward(const torch::Tensor& x) {
  const auto B = x.size(0), T = config.grid.tokens(), C = config.dim;
  check(x.dim() == 3 && x.size(1) == T && x.size(2) == C,
        "window attention: input {} is not (B, {}, {})", fmt::join(x.sizes(), "x"), T, C);
  const auto W = windows.count(), N = windows.tokens(), H = config.heads, D = C / H;
  const auto bias = score_bias();
  const auto parts = projections(windows.split(x))
                         .view({B, W, N, 3, H, D})
                         .permute({3, 0, 1, 4, 2, 5})
                         .contiguous()
                         .unbind();
  const auto &q = parts[0], &k = parts[1], &v = parts[2];  // (B, W, H, N, D)
  const auto weights = (scores(q, k) + bias).softmax(-1);  // (B, W, H, N, N)
  const auto kept = [&](const torch::Tensor& all) {
    return keyed_dropout(all, config.attention_dropout, is_training());
  };
  const auto on_grid = [&](const torch::Tensor& by_window) {  // (B, W, H, N, D) -> (B, T, C)
    return windows.join(by_window.transpose(2, 3).reshape({B, T, C}));
  };
  torch::Tensor mixed;  // (B, T, C)
  if (auto* capture = AttentionCapture::current()) {
    const auto whole = windows.spread(weights);  // (B, H, T, T)
    capture->record(whole, config.grid, config.grid);
    if (capture->in_graph()) {
      const auto values = on_grid(v).view({B, T, H, D}).transpose(1, 2);  // (B, H, T, D)
      mixed = kept(whole).matmul(values).transpose(1, 2).reshape({B, T, C});
    }
  }
  if (!mixed.defined()) mixed = on_grid(kept(weights).matmul(v));
  return keyed_dropout(proj(mixed), config.dropout, is_training());
}

TableWindowAttentionImpl::TableWindowAttentionImpl(const WindowAttentionConfig& c)
    : WindowAttentionImpl(c, /*qkv_bias=*/true) {
  const auto L = 2 * c.windows.window - 1;
  relative_position_bias_table =
      register_parameter("relative_position_bias_table", torch::randn({L * L, c.heads}) * 0.02);
}

torch::Tensor TableWindowAttentionImpl::scores(const torch::Tensor& q, const torch::Tensor& k) {
  return (q * (1 / std::sqrt(static_cast<double>(q.size(-1))))).matmul(k.transpose(-2, -1));
}

CosineWindowAttentionImpl::CosineWindowAttentionImpl(const WindowAttentionConfig& c,
                                                     int64_t pretrained_window)
    : WindowAttentionImpl(c, /*qkv_bias=*/false),
      positions_(log_relative_positions(
          c.windows.window, pretrained_window > 0 ? pretrained_window : c.windows.window)) {
  q_bias = register_parameter("q_bias", torch::zeros({c.dim}));
  v_bias = register_parameter("v_bias", torch::zeros({c.dim}));
  logit_scale =
      register_parameter("logit_scale", torch::full({c.heads, 1, 1}, std::log(kFirstScale)));
  cpb_mlp = register_module(
      "cpb_mlp", torch::nn::Sequential(
                     Linear(2, kBiasNetworkWidth), torch::nn::ReLU(),
                     Linear(LinearConfig{.in = kBiasNetworkWidth, .out = c.heads, .bias = false})));
}

torch::Tensor CosineWindowAttentionImpl::projections(const torch::Tensor& x) {
  const auto bias = torch::cat({q_bias, torch::zeros_like(q_bias), v_bias});
  return linear_product(x, qkv->weight, bias);
}

torch::Tensor CosineWindowAttentionImpl::scores(const torch::Tensor& q, const torch::Tensor& k) {
  const auto length = [](const torch::Tensor& t) {
    return t.norm(2, -1, /*keepdim=*/true).clamp_min(1e-12);
  };
  const auto scale = logit_scale.clamp_max(std::log(kLargestScale)).exp();  // (H, 1, 1)
  return (q * (scale / length(q))).matmul((k / length(k)).transpose(-2, -1));
}

torch::Tensor CosineWindowAttentionImpl::bias_table() {
  return kLargestBias * cpb_mlp->forward(positions_.to(q_bias.options())).sigmoid();
}

}  // namespace vitrine
