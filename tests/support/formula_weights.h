#pragma once

#include <torch/torch.h>

#include <cmath>
#include <string>

namespace vitrine::test {

// Weights and inputs that a formula decides, so that tests/fixtures/make_*.py can repeat them.

/// Numbers in [-scale, scale), decided by the name alone.
inline torch::Tensor numbers(const std::string& name, at::IntArrayRef shape, double scale) {
  uint32_t seed = 2166136261u;
  for (const unsigned char byte : name) seed = (seed ^ byte) * 16777619u;
  auto result = torch::empty(shape);
  auto* out = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); ++i) {
    uint32_t h = (static_cast<uint32_t>(i) ^ seed) * 0x7FEB352Du;
    h = (h ^ (h >> 15)) * 0x846CA68Bu;
    h ^= h >> 16;
    out[i] = static_cast<float>((h / 2147483648.0 - 1) * scale);
  }
  return result;
}

/// Every parameter and buffer of the model by its name.
inline void fill_by_name(torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  const auto set = [](const std::string& name, const torch::Tensor& tensor) {
    if (tensor.scalar_type() != torch::kFloat) return;
    const bool matrix = tensor.dim() >= 2;
    tensor.copy_(numbers(name, tensor.sizes(), matrix ? std::sqrt(3.0 / tensor[0].numel()) : 0.1));
    if (!matrix && (name.ends_with("weight") || name.ends_with("running_var"))) tensor.add_(1);
  };
  for (const auto& item : model.named_parameters()) set(item.key(), item.value());
  for (const auto& item : model.named_buffers()) set(item.key(), item.value());
}

}  // namespace vitrine::test
