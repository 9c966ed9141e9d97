#include "vitrine/nn/std_conv.h"

#include <ATen/record_function.h>

#include <algorithm>

namespace vitrine {
namespace {

/// Rows or columns that SAME padding adds to a side of this length.
int64_t same_padding(int64_t side, int64_t kernel, int64_t stride) {
  const auto out = (side + stride - 1) / stride;
  return std::max<int64_t>((out - 1) * stride + kernel - side, 0);
}

}  // namespace

const Choices<Standardization>& standardization_names() {
  static const Choices<Standardization> names = {{"std", Standardization::Std},
                                                 {"variance", Standardization::Variance}};
  return names;
}

torch::Tensor standardized(const torch::Tensor& weight, Standardization how) {
  if (how == Standardization::Variance) {
    const auto rows = weight.flatten(/*start_dim=*/1);  // (out, in h w)
    return torch::layer_norm(rows, {rows.size(1)}, {}, {}, /*eps=*/1e-8).view_as(weight);
  }
  const auto centred = weight - weight.mean({1, 2, 3}, /*keepdim=*/true);
  const auto variance = centred.square().mean({1, 2, 3}, /*keepdim=*/true);  // (out, 1, 1, 1)
  return centred / (variance.sqrt() + 1e-5);
}

torch::Tensor pad_same(const torch::Tensor& x, int64_t kernel, int64_t stride, double value) {
  const auto rows = same_padding(x.size(2), kernel, stride);
  const auto columns = same_padding(x.size(3), kernel, stride);
  if (rows == 0 && columns == 0) return x;
  return torch::constant_pad_nd(x, {columns / 2, columns - columns / 2, rows / 2, rows - rows / 2},
                                value);
}

StdConv2dImpl::StdConv2dImpl(const StdConv2dConfig& c)
    : Conv2dImpl(torch::nn::Conv2dOptions(c.in, c.out, c.kernel).stride(c.stride).bias(false)),
      config(c) {}

torch::Tensor StdConv2dImpl::forward(const torch::Tensor& x) {
  // The kernel that the convolution gets is no parameter, so the layer itself is recorded.
  at::RecordFunction record(at::RecordScope::FUNCTION);
  const std::vector<c10::IValue> inputs = {x, weight};
  if (record.isActive()) record.before("vitrine::std_conv2d", &inputs);
  const auto y = torch::nn::functional::conv2d(
      pad_same(x, config.kernel, config.stride), standardized(weight, config.standardize),
      torch::nn::functional::Conv2dFuncOptions().stride(config.stride));
  if (record.needsOutputs()) record.setOutputs(std::vector<c10::IValue>({y}));
  return y;
}

}  // namespace vitrine
