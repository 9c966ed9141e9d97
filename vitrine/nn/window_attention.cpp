#include "vitrine/nn/window_attention.h"

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/nn/attention_capture.h"
#include "vitrine/ops/attention.h"
#include "vitrine/ops/dropout.h"
#include "vitrine/ops/window_attention.h"

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

/// (B, T, 3 C) -> (B, T, 3, H, D)
torch::Tensor by_heads(const torch::Tensor& qkv, int64_t heads) {
  return qkv.view({qkv.size(0), qkv.size(1), 3, heads, qkv.size(2) / (3 * heads)});
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
}

torch::Tensor Windows::by_window(const torch::Tensor& grid) const {
  const auto w = config_.window;
  return grid.reshape({rows(), w, rows(), w}).permute({0, 2, 1, 3}).reshape({count(), tokens()});
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
  return table.index_select(0, position_index_.to(table.device()))
      .view({N, N, config.heads})
      .permute({2, 0, 1});
}

torch::Tensor WindowAttentionImpl::forward(const torch::Tensor& x) {
  const auto T = config.grid.tokens(), C = config.dim;
  check(x.dim() == 3 && x.size(1) == T && x.size(2) == C,
        "window attention: input {} is not (B, {}, {})", fmt::join(x.sizes(), "x"), T, C);
  const AttentionWindows in = {windows.order(), windows.inverse(), score_bias(), windows.mask()};
  const auto qkv = queries_keys_values(x);
  const double dropout = is_training() ? config.attention_dropout : 0;
  torch::Tensor mixed;  // (B, T, C)
  if (auto* capture = AttentionCapture::current()) {
    const auto weights = window_attention_weights(qkv, in, score_scale());
    const auto whole = windows.spread(weights);  // (B, H, T, T)
    capture->record(whole, config.grid, config.grid);
    mixed = capture->in_graph() ? attend(whole, qkv, dropout)
                                : weigh_window_values(weights, qkv, in, dropout);
  } else {
    mixed = window_attention(qkv, in, score_scale(), dropout, proj->precision());
  }
  return keyed_dropout(proj(mixed), config.dropout, is_training());
}

TableWindowAttentionImpl::TableWindowAttentionImpl(const WindowAttentionConfig& c)
    : WindowAttentionImpl(c, /*qkv_bias=*/true) {
  const auto L = 2 * c.windows.window - 1;
  relative_position_bias_table =
      register_parameter("relative_position_bias_table", torch::randn({L * L, c.heads}) * 0.02);
}

torch::Tensor TableWindowAttentionImpl::queries_keys_values(const torch::Tensor& x) {
  return by_heads(qkv(x), config.heads);
}

double TableWindowAttentionImpl::score_scale() const {
  const auto D = config.dim / config.heads;
  return 1 / std::sqrt(static_cast<double>(D));
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
  const LinearConfig hidden{.in = 2, .out = kBiasNetworkWidth, .keep_fp32 = true};
  const LinearConfig out{.in = kBiasNetworkWidth, .out = c.heads, .bias = false, .keep_fp32 = true};
  cpb_mlp = register_module("cpb_mlp",
                            torch::nn::Sequential(Linear(hidden), torch::nn::ReLU(), Linear(out)));
}

torch::Tensor CosineWindowAttentionImpl::queries_keys_values(const torch::Tensor& x) {
  const auto bias = torch::cat({q_bias, torch::zeros_like(q_bias), v_bias});
  const auto parts = by_heads(qkv->product(x, bias), config.heads).unbind(2);
  const auto &q = parts[0], &k = parts[1];  // (B, T, H, D)
  const auto length = [](const torch::Tensor& t) {
    return t.norm(2, -1, /*keepdim=*/true).clamp_min(1e-12);
  };
  const auto scale = logit_scale.squeeze(-1).clamp_max(std::log(kLargestScale)).exp();  // (H, 1)
  return torch::stack({q * (scale / length(q)), k / length(k), parts[2]}, 2);
}

torch::Tensor CosineWindowAttentionImpl::bias_table() {
  return kLargestBias * cpb_mlp->forward(positions_.to(q_bias.options())).sigmoid();
}

}  // namespace vitrine
