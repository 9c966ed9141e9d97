#include "vitrine/nn/linear.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/nn/recompute.h"
#include "vitrine/ops/activation.h"
#include "vitrine/ops/cpu_kernel.h"
#include "vitrine/ops/packed_linear.h"
#include "vitrine/ops/torch_compat.h"
#include "vitrine/ops/training/linear.h"
#include "vitrine/ops/training/small_linear.h"

namespace vitrine {

std::optional<Precision> learning_precision(const torch::Tensor& x, const torch::Tensor& weight) {
  if (!has_cpu_kernel(weight)) return std::nullopt;
  if (cpu_autocast_enabled()) return Precision::BFloat16;
  const bool learns =
      backward_follows() && weight.requires_grad() && weight.scalar_type() == torch::kFloat;
  if (!learns || x.scalar_type() != torch::kFloat) return std::nullopt;
  return Precision::Float32;
}

std::optional<Precision> own_products(const torch::Tensor& x, const torch::Tensor& weight) {
  constexpr int64_t kFewMultiplyAdds = 1 << 20;
  const auto precision = learning_precision(x, weight);
  const bool few = x.numel() * weight.size(0) < kFewMultiplyAdds;
  return few && precision == Precision::Float32 ? std::nullopt : precision;
}

torch::Tensor linear_product(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& bias) {
  constexpr int64_t kTinyMultiplyAdds = 1 << 15;
  const auto precision = own_products(x, weight);
  if (!precision && learning_precision(x, weight) && x.numel() * weight.size(0) < kTinyMultiplyAdds)
    return small_linear(x, weight, bias);
  if (!precision) return torch::linear(x, weight, bias);
  return training_linear(x.to(torch::kFloat), weight, bias, *precision);
}

void LinearConfig::validate() const {
  check(in > 0 && out > 0, "linear: in {} and out {} must be positive", in, out);
  check(stacked.empty() || std::accumulate(stacked.begin(), stacked.end(), int64_t{0}) == out,
        "linear: the stacked matrices have {} rows in all, expected {}",
        std::accumulate(stacked.begin(), stacked.end(), int64_t{0}), out);
}

LinearImpl::LinearImpl(const LinearConfig& c) : config(c) {
  config.validate();
  weight = register_parameter("weight", torch::empty({config.out, config.in}));
  if (config.bias) bias = register_parameter("bias", torch::empty({config.out}));
  const torch::NoGradGuard no_grad;
  torch::nn::init::kaiming_uniform_(weight, /*a=*/std::sqrt(5));
  const double bound = 1 / std::sqrt(static_cast<double>(config.in));
  if (bias.defined()) torch::nn::init::uniform_(bias, -bound, bound);
}

torch::Tensor LinearImpl::product(const torch::Tensor& x, const torch::Tensor& other_bias) const {
  return packed_ ? packed_linear(x, *packed_, other_bias) : linear_product(x, weight, other_bias);
}

torch::Tensor LinearImpl::gelu(const torch::Tensor& x) const {
  return packed_ ? packed_linear_gelu(x, *packed_, bias)
                 : activate(product(x, bias), Activation::Gelu);
}

Precision LinearImpl::precision() const {
  if (packed_) return packed_->precision();
  return cpu_autocast_enabled() ? Precision::BFloat16 : Precision::Float32;
}

bool LinearImpl::pack(Precision precision) {
  check(!packed_, "linear: the weight was packed before; load the network again");
  if (config.keep_fp32) return false;
  packed_ = pack_weight(weight, precision);
  // One number that stands for all: whoever reads it in spite of the above gets NaN.
  const auto nothing = torch::full({1, 1}, std::numeric_limits<float>::quiet_NaN());
  weight.set_requires_grad(false);
  weight.set_data(nothing.expand({config.out, config.in}));
  return true;
}

}  // namespace vitrine
