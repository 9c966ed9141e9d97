#include "vitrine/infer/device.h"

#include <torch/torch.h>

#include <regex>

#include "vitrine/core/error.h"
#include "vitrine/kernels/packed_product.h"

namespace vitrine {

torch::Device open_device(const std::string& name) {
  check_usage(std::regex_match(name, std::regex("cpu|cuda(:[0-9]{1,3})?")),
              "device: '{}' is not known; use cpu, cuda or cuda:N", name);
  const torch::Device device(name);
  if (device.is_cuda())
    check(torch::cuda::is_available() &&
              device.index() < static_cast<int64_t>(torch::cuda::device_count()),
          "device: '{}' is not available here; use cpu", name);
  return device;
}

bool has_fast_bfloat16(const std::string& device) {
  if (!open_device(device).is_cpu()) return true;
  return kernels::has_bf16_products();
}

Precision training_precision(Precision precision, const std::string& device) {
  if (precision != Precision::Auto) return precision;
  return has_fast_bfloat16(device) ? Precision::BFloat16 : Precision::Float32;
}

}  // namespace vitrine
