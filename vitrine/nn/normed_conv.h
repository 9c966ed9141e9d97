#pragma once

#include <torch/torch.h>

namespace vitrine {

/// A convolution and the batch normalisation behind it, which its owner registers beside it, as
/// files of weights name the two: (B, in, H, W) -> (B, out, H', W').
class NormedConvImpl : public torch::nn::Conv2dImpl {
 public:
  NormedConvImpl(const torch::nn::Conv2dOptions& conv, torch::nn::BatchNorm2d norm);
  /// norm(conv(x)).
  torch::Tensor forward(const torch::Tensor& x);
  /// ReLU of forward(x), and of its sum with a residual.
  torch::Tensor relu(const torch::Tensor& x);
  torch::Tensor relu(const torch::Tensor& x, const torch::Tensor& residual);

  /// For inference on the CPU: one convolution does for both from now on, with the statistics that
  /// the norm has learned. It cannot be trained or saved any more.
  void fold();

 private:
  torch::nn::BatchNorm2d norm_;
  bool folded_ = false;
};
TORCH_MODULE(NormedConv);

}  // namespace vitrine
