#pragma once

#include <torch/torch.h>

#include "vitrine/core/fields.h"

namespace vitrine {

/// What a kernel is divided by once its mean is subtracted: `Std` is std + 1e-5 (Google's code),
/// `Variance` is sqrt(var + 1e-8) (timm's). Both are those of all n weights, not of n - 1.
enum class Standardization { Std, Variance };
const Choices<Standardization>& standardization_names();

/// Each output channel's kernel with mean 0 and standard deviation 1: (out, in, h, w) as before.
torch::Tensor standardized(const torch::Tensor& weight, Standardization how);

/// Padding as TensorFlow's SAME: a window of `kernel` then gives ceil(S / stride) values per side.
/// An odd number of rows or columns puts the larger half below or to the right.
torch::Tensor pad_same(const torch::Tensor& x, int64_t kernel, int64_t stride, double value = 0);

struct StdConv2dConfig {
  int64_t in = 3, out = 64;
  int64_t kernel = 3, stride = 1;
  Standardization standardize = Standardization::Std;
};

/// Convolution whose kernels are standardised (Qiao et al., "Micro-Batch Training with
/// Batch-Channel Normalization and Weight Standardization", 2019), without bias, with SAME padding:
/// (B, in, S, S) -> (B, out, ceil(S / stride), ceil(S / stride)).
class StdConv2dImpl : public torch::nn::Conv2dImpl {
 public:
  explicit StdConv2dImpl(const StdConv2dConfig& c);
  torch::Tensor forward(const torch::Tensor& x);

  const StdConv2dConfig config;
};
TORCH_MODULE(StdConv2d);

}  // namespace vitrine
