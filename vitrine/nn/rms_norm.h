#pragma once

#include <torch/torch.h>

namespace vitrine {

/// Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019): x weight / sqrt(mean(x^2) +
/// eps) over the last dimension. Unlike LayerNorm it neither subtracts the mean nor adds a bias.
class RmsNormImpl : public torch::nn::Module {
 public:
  explicit RmsNormImpl(int64_t dim, double eps = 1e-5);
  torch::Tensor forward(const torch::Tensor& x);

  torch::Tensor weight;  // (C)

 private:
  double eps_;
};
TORCH_MODULE(RmsNorm);

}  // namespace vitrine
