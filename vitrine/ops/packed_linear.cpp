#include "vitrine/ops/packed_linear.h"

#include <torch/torch.h>

#include "vitrine/core/error.h"
#include "vitrine/kernels/bf16_words.h"
#include "vitrine/kernels/packed_product.h"
#include "vitrine/ops/activation.h"
#include "vitrine/ops/panel_loop.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// The sum of so many products of a byte and an int8 weight fits in 32 bits.
constexpr int64_t kLongestRow = 65536;

/// What all precisions have in common: panels of words, and the loops over rows and panels.
class PanelWeight : public PackedWeight {
 public:
  PanelWeight(const torch::Tensor& weight, int64_t per_word)
      : N(weight.size(0)),
        K(weight.size(1)),
        words(kernels::words_of(K, per_word)),
        layout(kernels::packed_layout()),
        panels(torch::empty({layout.panels(N), words, layout.columns}, torch::kInt)) {}

  int64_t outputs() const override { return N; }
  int64_t inputs() const override { return K; }
  int64_t bytes() const override { return static_cast<int64_t>(panels.nbytes()); }

  void rows(const float* x, int64_t M, const float* bias, bool gelu, float* y) const override {
    std::vector<float> padded;  // where the last panel is not full
    const auto outputs = layout.panels(N) * layout.columns;
    if (bias != nullptr && outputs != N) {
      padded.resize(outputs);
      std::copy_n(bias, N, padded.data());
      bias = padded.data();
    }
    kernels::PackedProduct p{.n = N,
                             .words = words,
                             .row_stride = words,
                             .panels = panels.data_ptr<int32_t>(),
                             .bias = bias,
                             .y = y,
                             .y_stride = N,
                             .gelu = gelu};
    run(x, M, p);
  }

 protected:
  /// Converts the rows of inputs, then multiplies.
  virtual void run(const float* x, int64_t M, kernels::PackedProduct& p) const = 0;

  /// Rows of words, (M, words), which `convert` writes: it is given a row's number and its words.
  template <typename Convert>
  torch::Tensor convert_rows(int64_t M, Convert convert) const {
    auto rows = torch::empty({M, words}, torch::kInt);
    auto* out = rows.template data_ptr<int32_t>();
    at::parallel_for(0, M, items_per_task(kConversionsPerTask, K), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) convert(row, out + row * words);
    });
    return rows;
  }

  template <typename Product>
  void multiply(int64_t M, const Product& product) const {
    for_all_panels(M, N, K, layout, product);
  }

  template <typename Pack>
  void pack_panels(Pack pack) const {
    at::parallel_for(0, layout.panels(N), items_per_task(kConversionsPerTask, layout.columns * K),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t panel = begin; panel < end; ++panel) pack(panel);
                     });
  }

  const int64_t N, K, words;
  const kernels::PackedLayout layout;
  const torch::Tensor panels;  // (panels, words, columns)

 private:
  torch::Tensor compute(const torch::Tensor& x, const torch::Tensor& bias,
                        bool gelu) const override {
    check(
        x.dim() >= 1 && x.size(-1) == K && x.scalar_type() == torch::kFloat && x.device().is_cpu(),
        "linear: rows of {} ({}) do not fit packed weights for rows of {} in fp32 on the CPU",
        x.size(-1), torch::toString(x.scalar_type()), K);
    const auto in = x.reshape({-1, K}).contiguous();  // (M, K)
    const auto M = in.size(0);
    const auto padded = padded_bias(bias, N, layout);
    auto y = torch::empty({M, N}, x.options());
    kernels::PackedProduct p{.n = N,
                             .words = words,
                             .row_stride = words,
                             .panels = panels.data_ptr<int32_t>(),
                             .bias = values_or_null(padded),
                             .y = y.data_ptr<float>(),
                             .y_stride = N,
                             .gelu = gelu};
    run(in.data_ptr<float>(), M, p);
    auto shape = x.sizes().vec();
    shape.back() = N;
    return y.view(shape);
  }
};

class Fp32Weight : public PanelWeight {
 public:
  explicit Fp32Weight(const torch::Tensor& weight) : PanelWeight(weight, kernels::kFp32PerWord) {
    pack_panels([&](int64_t panel) {
      kernels::pack_words(reinterpret_cast<const int32_t*>(weight.data_ptr<float>()), N, words,
                          layout, panel, panels.data_ptr<int32_t>());
    });
  }

  Precision precision() const override { return Precision::Float32; }

  torch::Tensor values() const override {
    auto w = torch::empty({N, K});
    kernels::unpack_fp32(panels.data_ptr<int32_t>(), N, K, layout, w.data_ptr<float>());
    return w;
  }

 private:
  void run(const float* x, int64_t M, kernels::PackedProduct& p) const override {
    p.rows = reinterpret_cast<const int32_t*>(x);
    multiply(M, [&](int64_t panel, int64_t first, int64_t count) {
      kernels::fp32_product(p, panel, first, count);
    });
  }
};

class Int8Weight : public PanelWeight {
 public:
  explicit Int8Weight(const torch::Tensor& weight)
      : PanelWeight(weight, kernels::kInt8PerWord),
        scale(torch::empty({panels.size(0) * panels.size(2)})),
        sum(torch::empty_like(scale, torch::kInt)) {
    check(K <= kLongestRow, "int8: rows of {} weights are too long; the longest are of {}", K,
          kLongestRow);
    pack_panels([&](int64_t panel) {
      kernels::pack_int8(weight.data_ptr<float>(), N, K, layout, panel, panels.data_ptr<int32_t>(),
                         scale.data_ptr<float>(), sum.data_ptr<int32_t>());
    });
  }

  Precision precision() const override { return Precision::Int8; }

  torch::Tensor values() const override {
    auto w = torch::empty({N, K});
    kernels::unpack_int8(panels.data_ptr<int32_t>(), scale.data_ptr<float>(), N, K, layout,
                         w.data_ptr<float>());
    return w;
  }

 private:
  void run(const float* x, int64_t M, kernels::PackedProduct& p) const override {
    std::vector<kernels::RowScale> row_scale(M);
    const auto rows = convert_rows(M, [&](int64_t row, int32_t* out) {
      row_scale[row] = kernels::quantize_row(x + row * K, K, out);
    });
    p.rows = rows.data_ptr<int32_t>();
    p.row_scale = row_scale.data();
    p.scale = scale.data_ptr<float>();
    p.sum = sum.data_ptr<int32_t>();
    multiply(M, [&](int64_t panel, int64_t first, int64_t count) {
      kernels::int8_product(p, panel, first, count);
    });
  }

  const torch::Tensor scale, sum;  // of each output
};

class Bf16Weight : public PanelWeight {
 public:
  explicit Bf16Weight(const torch::Tensor& weight) : PanelWeight(weight, kernels::kBf16PerWord) {
    const auto* w = weight.data_ptr<float>();
    const auto rows = convert_rows(
        N, [&](int64_t row, int32_t* out) { kernels::round_row(w + row * K, K, out); });
    pack_panels([&](int64_t panel) {
      kernels::pack_words(rows.data_ptr<int32_t>(), N, words, layout, panel,
                          panels.data_ptr<int32_t>());
    });
  }

  Precision precision() const override { return Precision::BFloat16; }

  torch::Tensor values() const override {
    auto w = torch::empty({N, K});
    kernels::unpack_bf16(panels.data_ptr<int32_t>(), N, K, layout, w.data_ptr<float>());
    return w;
  }

 private:
  void run(const float* x, int64_t M, kernels::PackedProduct& p) const override {
    const auto rows = convert_rows(
        M, [&](int64_t row, int32_t* out) { kernels::round_row(x + row * K, K, out); });
    p.rows = rows.data_ptr<int32_t>();
    multiply(M, [&](int64_t panel, int64_t first, int64_t count) {
      kernels::bf16_product(p, panel, first, count);
    });
  }
};

struct PackedLinear : torch::autograd::Function<PackedLinear> {
  /// The bias, which may be undefined, comes by its address: `apply` asks every tensor for its
  /// device.
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor* bias, const PackedWeight* weight) {
    ctx->save_for_backward({weight->values()});
    return weight->product(x, *bias);
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto values = ctx->get_saved_variables()[0];
    return {gradients[0].matmul(values), {}, {}};  // the bias is as fixed as the weight
  }
};

bool needs_gradient(const torch::Tensor& x) {
  return torch::GradMode::is_enabled() && x.requires_grad();
}

torch::Tensor detached(const torch::Tensor& t) { return t.defined() ? t.detach() : t; }

}  // namespace

std::shared_ptr<const PackedWeight> pack_weight(const torch::Tensor& weight, Precision precision) {
  check(weight.dim() == 2 && weight.numel() > 0 && weight.scalar_type() == torch::kFloat &&
            weight.device().is_cpu(),
        "linear: a weight of {} ({}) on {} cannot be packed; pack matrices in fp32 on the CPU",
        fmt::join(weight.sizes(), "x"), torch::toString(weight.scalar_type()),
        weight.device().str());
  const auto matrix = weight.detach().contiguous();
  if (precision == Precision::Float32) return std::make_shared<Fp32Weight>(matrix);
  check(matrix.isfinite().all().item<bool>(),
        "linear: a weight of {} has numbers that are not finite, which {} cannot hold; train again "
        "from a checkpoint before it diverged",
        fmt::join(weight.sizes(), "x"), precision_name(precision));
  if (precision == Precision::Int8) return std::make_shared<Int8Weight>(matrix);
  return std::make_shared<Bf16Weight>(matrix);
}

torch::Tensor packed_linear(const torch::Tensor& x, const PackedWeight& weight,
                            const torch::Tensor& bias) {
  if (needs_gradient(x)) return PackedLinear::apply(x, &bias, &weight);
  return weight.product(x.detach(), detached(bias));
}

torch::Tensor packed_linear_gelu(const torch::Tensor& x, const PackedWeight& weight,
                                 const torch::Tensor& bias) {
  if (needs_gradient(x)) return activate(packed_linear(x, weight, bias), Activation::Gelu);
  return weight.gelu_product(x.detach(), detached(bias));
}

torch::Tensor int8_linear_reference(const torch::Tensor& x, const torch::Tensor& weight,
                                    const torch::Tensor& bias, int64_t limit) {
  const auto row_scale = weight.abs().amax(1, /*keepdim=*/true) / limit;        // (N, 1)
  const auto w = (weight / row_scale).nan_to_num().round().to(torch::kDouble);  // a row of 0: 0 / 0
  const auto least = x.amin(-1, /*keepdim=*/true).clamp_max(0);
  const auto scale = (x.amax(-1, /*keepdim=*/true).clamp_min(0) - least) / 255;  // (..., 1)
  const auto inverse = torch::where(scale > 0, scale.reciprocal(), torch::zeros_like(scale));
  const auto zero = (-least * inverse).round();
  const auto q = ((x * inverse).round() + zero).clamp(0, 255) - zero;
  const auto sums = q.to(torch::kDouble).matmul(w.t());  // integers
  const auto y = sums * scale * row_scale.squeeze(1);
  return (bias.defined() ? y + bias : y).to(torch::kFloat);
}

torch::Tensor bf16_linear_reference(const torch::Tensor& x, const torch::Tensor& weight,
                                    const torch::Tensor& bias) {
  const auto rounded = [](const torch::Tensor& t) {
    return t.to(torch::kBFloat16).to(torch::kDouble);
  };
  const auto y = rounded(x).matmul(rounded(weight).t());
  return (bias.defined() ? y + bias : y).to(torch::kFloat);
}

}  // namespace vitrine
