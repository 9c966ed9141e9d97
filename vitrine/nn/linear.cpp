#include "vitrine/nn/linear.h"

#include <cmath>
#include <numeric>

#include "vitrine/core/error.h"

namespace vitrine {

torch::Tensor linear_product(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& bias) {
  return torch::linear(x, weight, bias);
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

torch::Tensor LinearImpl::forward(const torch::Tensor& x) {
  return linear_product(x, weight, bias);
}

}  // namespace vitrine
