#pragma once

#include <torch/types.h>

#include <memory>

#include "vitrine/core/precision.h"

namespace vitrine {

/// The weight (N, K) of a linear layer, packed once for products on the CPU.
class PackedWeight {
 public:
  virtual ~PackedWeight() = default;
  /// x W^T + b: x (..., K) and bias (N), which may be undefined, in fp32 -> (..., N).
  torch::Tensor product(const torch::Tensor& x, const torch::Tensor& bias) const {
    return compute(x, bias, /*gelu=*/false);
  }
  /// The GELU of that.
  torch::Tensor gelu_product(const torch::Tensor& x, const torch::Tensor& bias) const {
    return compute(x, bias, /*gelu=*/true);
  }
  virtual Precision precision() const = 0;
  virtual int64_t outputs() const = 0;  // N
  virtual int64_t inputs() const = 0;   // K
  /// The same product, or its GELU, for the rows of x, (M, K) -> (M, N), where `bias` may be null:
  /// for rows that a thread takes through several layers.
  virtual void rows(const float* x, int64_t M, const float* bias, bool gelu, float* y) const = 0;
  /// The weight that products see, in fp32: (N, K).
  virtual torch::Tensor values() const = 0;
  virtual int64_t bytes() const = 0;

 private:
  virtual torch::Tensor compute(const torch::Tensor& x, const torch::Tensor& bias,
                                bool gelu) const = 0;
};

/// Packs a weight (N, K), whose numbers must be finite for bf16 and int8.
std::shared_ptr<const PackedWeight> pack_weight(const torch::Tensor& weight, Precision precision);

/// `weight.product(x, bias)`. Its gradient for x is that of a layer with `weight.values()`, as if
/// nothing were rounded on the way (straight-through).
torch::Tensor packed_linear(const torch::Tensor& x, const PackedWeight& weight,
                            const torch::Tensor& bias);
/// The GELU of that.
torch::Tensor packed_linear_gelu(const torch::Tensor& x, const PackedWeight& weight,
                                 const torch::Tensor& bias);

/// What int8 products are: each output of a token is the scale of the token times the scale of the
/// weight's row times a sum of products of integers, plus the bias. Weights are symmetric, up to
/// `limit`; inputs are bytes from the token's range, which holds 0.
torch::Tensor int8_linear_reference(const torch::Tensor& x, const torch::Tensor& weight,
                                    const torch::Tensor& bias, int64_t limit);

/// What bf16 products are: both factors rounded to bf16, exact products, sums without rounding.
torch::Tensor bf16_linear_reference(const torch::Tensor& x, const torch::Tensor& weight,
                                    const torch::Tensor& bias);

}  // namespace vitrine
