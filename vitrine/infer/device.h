#pragma once

#include <torch/types.h>

#include <string>

namespace vitrine {

/// The device called "cpu", "cuda" or "cuda:1"; throws if it is unknown or not there.
torch::Device open_device(const std::string& name);

}  // namespace vitrine
