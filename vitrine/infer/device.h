#pragma once

#include <torch/types.h>

#include <string>

#include "vitrine/core/precision.h"

namespace vitrine {

/// The device called "cpu", "cuda" or "cuda:1"; throws if it is unknown or not there.
torch::Device open_device(const std::string& name);

/// Whether bfloat16 arithmetic is done in hardware there.
bool has_fast_bfloat16(const std::string& device);

/// `precision`, or what Auto means on the device.
Precision training_precision(Precision precision, const std::string& device);

}  // namespace vitrine
