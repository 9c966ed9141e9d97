#include "vitrine/nn/normed_conv.h"

#include "vitrine/core/error.h"
#include "vitrine/ops/in_place.h"

namespace vitrine {

NormedConvImpl::NormedConvImpl(const torch::nn::Conv2dOptions& conv, torch::nn::BatchNorm2d norm)
    : Conv2dImpl(conv), norm_(std::move(norm)) {}

torch::Tensor NormedConvImpl::forward(const torch::Tensor& x) {
  const auto y = Conv2dImpl::forward(x);
  return folded_ ? y : norm_(y);
}

torch::Tensor NormedConvImpl::relu(const torch::Tensor& x) { return relu_in_place(forward(x)); }

torch::Tensor NormedConvImpl::relu(const torch::Tensor& x, const torch::Tensor& residual) {
  return relu_in_place(add_in_place(forward(x), residual));
}

void NormedConvImpl::fold() {
  check(!folded_, "convolution: its norm was folded before; load the network again");
  const torch::NoGradGuard no_grad;
  const auto scale = norm_->weight / (norm_->running_var + norm_->options.eps()).sqrt();  // (out)
  auto shift = norm_->bias - norm_->running_mean * scale;
  if (bias.defined()) shift += bias * scale;
  weight.set_requires_grad(false);
  weight.set_data((weight * scale.view({-1, 1, 1, 1}))
                      .contiguous(torch::MemoryFormat::ChannelsLast));  // as feature maps are
  bias = shift;
  folded_ = true;
}

}  // namespace vitrine
