#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <vector>

#include "vitrine/core/precision.h"

namespace vitrine {

class PackedWeight;

struct LinearConfig {
  int64_t in = 1, out = 1;
  bool bias = true;
  /// The rows of each matrix that the weight stacks, such as {C, C, C} for queries, keys and
  /// values; empty = one matrix of `out` rows. What treats matrices as wholes (Muon) must know.
  std::vector<int64_t> stacked{};
  /// Whether its products stay in fp32 whatever the precision of the network, and its weight is
  /// never packed: for what is small and sensitive, and for weights that are read otherwise than by
  /// `forward`.
  bool keep_fp32 = false;

  void validate() const;
};

/// x W^T + b: (..., in) and weight (out, in) -> (..., out). Every matrix product with learned
/// weights goes through here, so that faster products have one place.
torch::Tensor linear_product(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& bias = {});

/// The precision in which our kernels can multiply x with this weight: bf16 in mixed precision,
/// fp32 where it learns. Nothing if torch has to.
std::optional<Precision> learning_precision(const torch::Tensor& x, const torch::Tensor& weight);

/// The same, but nothing in fp32 if x has so few rows that torch is as fast.
std::optional<Precision> own_products(const torch::Tensor& x, const torch::Tensor& weight);

/// A layer of learned weight and bias: (..., in) -> (..., out). The initial weights are those of
/// torch::nn::Linear.
class LinearImpl : public torch::nn::Module {
 public:
  explicit LinearImpl(const LinearConfig& c);
  LinearImpl(int64_t in, int64_t out) : LinearImpl(LinearConfig{.in = in, .out = out}) {}
  torch::Tensor forward(const torch::Tensor& x) { return product(x, bias); }
  /// The same with another bias (out), which may be undefined.
  torch::Tensor product(const torch::Tensor& x, const torch::Tensor& other_bias) const;

  /// The GELU of `forward`.
  torch::Tensor gelu(const torch::Tensor& x) const;

  /// In which precision it computes now: that of its packed weight, or bf16 in mixed precision.
  Precision precision() const;

  /// Of a trained network on the CPU: computes in `precision` from now on, with a weight that is
  /// packed once, unless `keep_fp32` forbids it; gives back whether it does. `weight` holds nothing
  /// any more: it keeps its shape, but all its numbers are NaN.
  bool pack(Precision precision);
  /// The weight after `pack`; null before.
  const PackedWeight* packed() const { return packed_.get(); }

  const LinearConfig config;
  torch::Tensor weight;  // (out, in)
  torch::Tensor bias;    // (out); undefined without bias

 private:
  std::shared_ptr<const PackedWeight> packed_;  // null unless packed
};
TORCH_MODULE(Linear);

}  // namespace vitrine
