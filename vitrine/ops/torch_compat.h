#pragma once

// All that differs between the LibTorch of Debian 12 (1.13) and that of Debian 13 (2.6).

#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>

namespace vitrine {

/// The type of the totals that c10::MemoryReportingInfoBase is told.
#if TORCH_VERSION_MAJOR >= 2
using ReportedBytes = size_t;
#else
using ReportedBytes = int64_t;
#endif

/// Whether autocast is on for the CPU.
inline bool cpu_autocast_enabled() {
#if TORCH_VERSION_MAJOR >= 2
  return at::autocast::is_autocast_enabled(at::kCPU);
#else
  return at::autocast::is_cpu_enabled();
#endif
}

inline void set_cpu_autocast(bool on) {
#if TORCH_VERSION_MAJOR >= 2
  at::autocast::set_autocast_enabled(at::kCPU, on);
#else
  at::autocast::set_cpu_enabled(on);
#endif
}

/// Switches autocast to bfloat16 on or off, for CPU and GPU.
inline void set_bf16_autocast(bool on) {
#if TORCH_VERSION_MAJOR >= 2
  for (const auto device : {at::kCPU, at::kCUDA}) {
    at::autocast::set_autocast_enabled(device, on);
    if (on) at::autocast::set_autocast_dtype(device, at::kBFloat16);
  }
#else
  at::autocast::set_cpu_enabled(on);
  at::autocast::set_enabled(on);
  if (!on) return;
  at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
  at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
#endif
}

/// For c10d::TCPStoreOptions: 2.6 takes libuv unless told otherwise, and Debian's has none.
template <typename StoreOptions>
void use_plain_sockets([[maybe_unused]] StoreOptions& options) {
#if TORCH_VERSION_MAJOR >= 2
  options.useLibUV = false;
#endif
}

}  // namespace vitrine
