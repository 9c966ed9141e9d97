#include "vitrine/ops/window_attention.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>
#include <vector>

#include "vitrine/core/error.h"
#include "vitrine/ops/attention_heads.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/optional_tensor.h"
#include "vitrine/ops/random_key.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// Sums of the bias' gradient that are made on their own and then added in their order, so that the
/// result does not depend on the number of threads.
constexpr int64_t kParts = 8;

struct WindowShape {
  int64_t B, T, H, D, N, W;
  double scale, dropout;
  uint64_t key;
  kernels::Factors factors;

  int64_t channels() const { return H * D; }
  kernels::HeadShape head() const { return {N, N, D, D}; }
};

WindowShape window_shape(const torch::Tensor& qkv, const torch::Tensor& bias, double scale,
                         double dropout, int64_t key, bool bf16) {
  const auto T = qkv.size(1), N = bias.size(-1);
  return {.B = qkv.size(0),
          .T = T,
          .H = qkv.size(3),
          .D = qkv.size(4),
          .N = N,
          .W = T / N,
          .scale = scale,
          .dropout = dropout,
          .key = static_cast<uint64_t>(key),
          .factors = bf16 ? kernels::Factors::Bf16 : kernels::Factors::Full};
}

/// Where everything lies; `order` and `mask` may be null.
template <typename T>
struct WindowInputs {
  const T* qkv;
  const T* bias;
  const T* mask;
  const int64_t* order;
};

/// The tokens of one window of one sequence.
class WindowTokens {
 public:
  WindowTokens(const WindowShape& s, const int64_t* order, int64_t b, int64_t w)
      : order_(order ? order + w * s.N : nullptr), first_(b * s.T + (order ? 0 : w * s.N)) {}
  int64_t operator[](int64_t n) const { return first_ + (order_ ? order_[n] : n); }

 private:
  const int64_t* order_;
  int64_t first_;
};

/// to[n] = the D numbers of token n at `from`, whose tokens are `stride` apart.
template <typename T>
void gather(const WindowShape& s, const WindowTokens& tokens, const T* from, int64_t stride,
            T* to) {
  for (int64_t n = 0; n < s.N; ++n) std::copy_n(from + tokens[n] * stride, s.D, to + n * s.D);
}

template <typename T>
void scatter(const WindowShape& s, const WindowTokens& tokens, const T* from, T* to,
             int64_t stride) {
  for (int64_t n = 0; n < s.N; ++n) std::copy_n(from + n * s.D, s.D, to + tokens[n] * stride);
}

/// Queries, keys and values of head h in a window, copied to `qkv` (3, N, D).
template <typename T>
kernels::Head<T> gathered_head(const WindowShape& s, const WindowInputs<T>& in,
                               const WindowTokens& tokens, int64_t b, int64_t w, int64_t h,
                               T* qkv) {
  const auto C = s.channels(), size = s.N * s.D, weights = s.N * s.N;
  for (int64_t part = 0; part < 3; ++part)
    gather(s, tokens, in.qkv + part * C + h * s.D, 3 * C, qkv + part * size);
  return {.q = {qkv, s.D},
          .k = {qkv + size, s.D},
          .v = {qkv + 2 * size, s.D},
          .shape = s.head(),
          .scale = static_cast<T>(s.scale),
          .dropout = {static_cast<float>(s.dropout),
                      s.key + static_cast<uint64_t>((b * s.W + w) * s.H + h)},
          .bias = in.bias + h * weights,
          .mask = in.mask ? in.mask + w * weights : nullptr};
}

template <typename T>
void forward_windows(const WindowShape& s, const WindowInputs<T>& in, T* kept, T* out) {
  const auto size = s.N * s.D, C = s.channels();
  at::parallel_for(0, s.B * s.W, 1, [&](int64_t begin, int64_t end) {
    const auto attention = kernels::head_attention<T>(s.head(), s.factors);
    const auto per_head = s.N * attention->kept_per_query();
    std::vector<T> qkv(3 * size), mixed(size);
    for (int64_t i = begin; i < end; ++i)
      for (int64_t h = 0; h < s.H; ++h) {
        const int64_t b = i / s.W, w = i % s.W;
        const WindowTokens tokens(s, in.order, b, w);
        const auto head = gathered_head(s, in, tokens, b, w, h, qkv.data());
        attention->forward(head, kept ? kept + (i * s.H + h) * per_head : nullptr,
                           {mixed.data(), s.D});
        scatter(s, tokens, mixed.data(), out + h * s.D, C);
      }
  });
}

/// `d_bias` (kParts, H, N, N) is added to unless it is null.
template <typename T>
void backward_windows(const WindowShape& s, const WindowInputs<T>& in, const T* kept,
                      const T* d_out, T* d_qkv, T* d_bias) {
  const auto size = s.N * s.D, cells = s.N * s.N, C = s.channels(), windows = s.B * s.W;
  at::parallel_for(0, kParts * s.H, 1, [&](int64_t begin, int64_t end) {
    const auto attention = kernels::head_attention<T>(s.head(), s.factors);
    const auto per_head = s.N * attention->kept_per_query();
    std::vector<T> qkv(3 * size), gradients(3 * size), dy(size);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t part = unit / s.H, h = unit % s.H;
      for (int64_t i = windows * part / kParts; i < windows * (part + 1) / kParts; ++i) {
        const int64_t b = i / s.W, w = i % s.W;
        const WindowTokens tokens(s, in.order, b, w);
        const auto head = gathered_head(s, in, tokens, b, w, h, qkv.data());
        gather(s, tokens, d_out + h * s.D, C, dy.data());
        attention->backward(head, kept + (i * s.H + h) * per_head, {dy.data(), s.D},
                            {.q = {gradients.data(), s.D},
                             .k = {gradients.data() + size, s.D},
                             .v = {gradients.data() + 2 * size, s.D},
                             .bias = d_bias ? d_bias + unit * cells : nullptr});
        for (int64_t p = 0; p < 3; ++p)
          scatter(s, tokens, gradients.data() + p * size, d_qkv + p * C + h * s.D, 3 * C);
      }
    }
  });
}

template <typename T>
WindowInputs<T> window_inputs(const torch::Tensor& qkv, const torch::Tensor& bias,
                              const torch::Tensor& mask, const torch::Tensor& order) {
  return {qkv.data_ptr<T>(), bias.data_ptr<T>(), mask.defined() ? mask.data_ptr<T>() : nullptr,
          order.defined() ? order.data_ptr<int64_t>() : nullptr};
}

struct WindowAttentionFunction : torch::autograd::Function<WindowAttentionFunction> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& packed,
                               const torch::Tensor& biases, const OptionalTensor& masks,
                               const OptionalTensor& orders, double scale, double dropout,
                               bool bf16, bool backward_follows) {
    const auto qkv = packed.contiguous(), bias = biases.contiguous();
    const auto mask = masks ? masks->to(qkv.options()).contiguous() : torch::Tensor();
    const auto order = orders.value_or(torch::Tensor());
    const auto key = static_cast<int64_t>(dropout > 0 ? draw_random_key() : 0);
    const auto s = window_shape(qkv, bias, scale, dropout, key, bf16);
    torch::Tensor kept;
    if (backward_follows) kept = empty_kept(s.B * s.W * s.H, s.head(), s.factors, qkv.options());
    auto out = torch::empty({s.B, s.T, s.channels()}, qkv.options());
    AT_DISPATCH_FLOATING_TYPES(qkv.scalar_type(), "window_attention", [&] {
      forward_windows(s, window_inputs<scalar_t>(qkv, bias, mask, order),
                      backward_follows ? kept.data_ptr<scalar_t>() : nullptr,
                      out.data_ptr<scalar_t>());
    });
    if (backward_follows) ctx->save_for_backward({qkv, bias, mask, order, kept});
    ctx->saved_data["bf16"] = bf16;
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["key"] = key;
    return out;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto &qkv = saved[0], &bias = saved[1], &mask = saved[2], &order = saved[3],
               &kept = saved[4];
    const auto d_out = gradients[0].contiguous();
    const auto s = window_shape(qkv, bias, ctx->saved_data["scale"].toDouble(),
                                ctx->saved_data["dropout"].toDouble(),
                                ctx->saved_data["key"].toInt(), ctx->saved_data["bf16"].toBool());
    auto d_qkv = torch::empty_like(qkv);
    torch::Tensor d_bias;
    if (ctx->needs_input_grad(1)) d_bias = torch::zeros({kParts, s.H, s.N, s.N}, bias.options());
    AT_DISPATCH_FLOATING_TYPES(qkv.scalar_type(), "window_attention_backward", [&] {
      backward_windows(s, window_inputs<scalar_t>(qkv, bias, mask, order),
                       static_cast<const scalar_t*>(kept.data_ptr<scalar_t>()),
                       static_cast<const scalar_t*>(d_out.data_ptr<scalar_t>()),
                       d_qkv.data_ptr<scalar_t>(),
                       d_bias.defined() ? d_bias.data_ptr<scalar_t>() : nullptr);
    });
    return {d_qkv, d_bias.defined() ? d_bias.sum(0) : d_bias, {}, {}, {}, {}, {}, {}};
  }
};

void check_windows(const torch::Tensor& qkv, const AttentionWindows& w, double dropout) {
  check(qkv.dim() == 5 && qkv.size(2) == 3,
        "window attention: expected a (B, T, 3, H, D) tensor, got {}", fmt::join(qkv.sizes(), "x"));
  const auto T = qkv.size(1), H = qkv.size(3);
  check(w.bias.dim() == 3 && w.bias.size(0) == H && w.bias.size(1) == w.bias.size(2) &&
            w.bias.size(1) > 0 && T % w.bias.size(1) == 0,
        "window attention: a bias of {} does not fit {} heads and windows of {} tokens",
        fmt::join(w.bias.sizes(), "x"), H, T);
  const auto N = w.bias.size(1);
  check(!w.mask.defined() || w.mask.sizes() == torch::IntArrayRef({T / N, N, N}),
        "window attention: a mask of {} is not that of {} windows of {} tokens",
        w.mask.defined() ? fmt::format("{}", fmt::join(w.mask.sizes(), "x")) : "", T / N, N);
  check(w.order.defined() == w.inverse.defined() &&
            (!w.order.defined() ||
             (w.order.sizes() == torch::IntArrayRef({T}) && w.order.scalar_type() == torch::kLong &&
              w.order.is_contiguous())),
        "window attention: the order is not that of {} tokens", T);
  check(dropout >= 0 && dropout < 1, "window attention: dropout {} is not in [0, 1)", dropout);
}

/// Queries, keys or values by window: (B, W, H, N, D).
torch::Tensor by_window(const torch::Tensor& qkv, const AttentionWindows& w, int64_t part) {
  const auto N = w.bias.size(-1);
  auto tokens = qkv.select(2, part);  // (B, T, H, D)
  if (w.order.defined()) tokens = tokens.index_select(1, w.order.to(qkv.device()));
  return tokens.view({qkv.size(0), qkv.size(1) / N, N, qkv.size(3), qkv.size(4)}).transpose(2, 3);
}

}  // namespace

torch::Tensor window_attention_weights(const torch::Tensor& qkv, const AttentionWindows& w,
                                       double scale) {
  check_windows(qkv, w, 0);
  const auto q = by_window(qkv, w, 0), k = by_window(qkv, w, 1);
  auto bias = w.bias.unsqueeze(0);  // (W or 1, H, N, N)
  if (w.mask.defined()) bias = bias + w.mask.to(bias.options()).unsqueeze(1);
  return ((q * scale).matmul(k.transpose(-2, -1)) + bias).softmax(-1);
}

torch::Tensor weigh_window_values(const torch::Tensor& weights, const torch::Tensor& qkv,
                                  const AttentionWindows& w, double dropout) {
  const auto kept = torch::dropout(weights, dropout, /*train=*/dropout > 0);
  const auto mixed = kept.matmul(by_window(qkv, w, 2)).transpose(2, 3);  // (B, W, N, H, D)
  const auto tokens = mixed.flatten(3).flatten(1, 2);                    // (B, T, H * D)
  return w.inverse.defined() ? tokens.index_select(1, w.inverse.to(qkv.device())) : tokens;
}

torch::Tensor window_attention(const torch::Tensor& qkv, const AttentionWindows& w, double scale,
                               double dropout, Precision products) {
  check_windows(qkv, w, dropout);
  RECORD_FUNCTION("vitrine::window_attention", std::vector<c10::IValue>({qkv, w.bias}));
  if (!has_cpu_kernel(qkv))
    return weigh_window_values(window_attention_weights(qkv, w, scale), qkv, w, dropout);
  const bool backward_follows =
      torch::GradMode::is_enabled() && (qkv.requires_grad() || w.bias.requires_grad());
  const bool bf16 = attention_factors(products) == kernels::Factors::Bf16;
  return WindowAttentionFunction::apply(qkv, w.bias, if_defined(w.mask), if_defined(w.order), scale,
                                        dropout, bf16, backward_follows);
}

}  // namespace vitrine
