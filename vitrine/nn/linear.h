#pragma once

#include <torch/torch.h>

#include <vector>

namespace vitrine {

struct LinearConfig {
  int64_t in = 1, out = 1;
  bool bias = true;
  /// The rows of each matrix that the weight stacks, such as {C, C, C} for queries, keys and values;
  /// empty = one matrix of `out` rows. What treats matrices as wholes (Muon) must know.
  std::vector<int64_t> stacked{};

  void validate() const;
};

/// x W^T + b: (..., in) and weight (out, in) -> (..., out). Every matrix product with learned
/// weights goes through here, so that faster products have one place.
torch::Tensor linear_product(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& bias = {});

/// A layer of learned weight and bias: (..., in) -> (..., out). The initial weights are those of
/// torch::nn::Linear.
class LinearImpl : public torch::nn::Module {
 public:
  explicit LinearImpl(const LinearConfig& c);
  LinearImpl(int64_t in, int64_t out) : LinearImpl(LinearConfig{.in = in, .out = out}) {}
  torch::Tensor forward(const torch::Tensor& x);

  const LinearConfig config;
  torch::Tensor weight;  // (out, in)
  torch::Tensor bias;    // (out); undefined without bias
};
TORCH_MODULE(Linear);

}  // namespace vitrine
