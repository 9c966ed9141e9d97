#pragma once

#include <torch/types.h>

#include <string>

namespace vitrine {

/// The device called "cpu", "cuda" or "cuda:1"; throws if it is unknown or not there.
torch::Device open_device(const std::string& name);

/// Whether bfloat16 arithmetic is done in hardware there.
bool has_fast_bfloat16(const std::string& device);

}  // namespace vitrine
