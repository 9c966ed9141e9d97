#include "vitrine/nn/initialize.h"

#include "vitrine/nn/linear.h"

namespace vitrine {
void initialize_transformer(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  for (const auto& child : module.modules(/*include_self=*/false)) {
    if (auto* linear = child->as<Linear>()) {
      torch::nn::init::xavier_uniform_(linear->weight);
      if (linear->bias.defined()) linear->bias.zero_();
    } else if (auto* conv = child->as<torch::nn::Conv2d>()) {
      torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanIn, torch::kReLU);
      if (conv->bias.defined()) conv->bias.zero_();
    }
  }
}

}  // namespace vitrine
