#include "vitrine/nn/initialise.h"

#include <cmath>

namespace vitrine {
namespace {

/// Normal with deviation `std`, cut at two deviations, by the inverse of its distribution function.
void truncated_normal_(torch::Tensor& weight, double std) {
  const double low = std::erf(-2 / std::sqrt(2.0)), high = -low;
  weight.uniform_(low, high).erfinv_().mul_(std * std::sqrt(2.0)).clamp_(-2 * std, 2 * std);
}

}  // namespace

void initialise_transformer(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  for (const auto& child : module.modules()) {
    if (auto* linear = child->as<torch::nn::Linear>()) {
      truncated_normal_(linear->weight, 0.02);
      if (linear->bias.defined()) linear->bias.zero_();
    } else if (auto* conv = child->as<torch::nn::Conv2d>()) {
      torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanIn, torch::kReLU);
      if (conv->bias.defined()) conv->bias.zero_();
    }
  }
}

}  // namespace vitrine
