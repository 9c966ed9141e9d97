#include "vitrine/nn/rms_norm.h"

#include <ATen/record_function.h>

#include "vitrine/core/error.h"

namespace vitrine {

RmsNormImpl::RmsNormImpl(int64_t dim, double eps)
    : weight(register_parameter("weight", torch::ones({dim}))), eps_(eps) {}

torch::Tensor RmsNormImpl::forward(const torch::Tensor& x) {
  check(x.dim() >= 1 && x.size(-1) == weight.size(0),
        "rms_norm: rows of {} do not fit a norm of {}", x.size(-1), weight.size(0));
  RECORD_FUNCTION("vitrine::rms_norm", std::vector<c10::IValue>({x, weight}));
  return x * (x.square().mean(-1, /*keepdim=*/true) + eps_).rsqrt() * weight;
}

}  // namespace vitrine
