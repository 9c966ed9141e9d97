#include "vitrine/core/peak_memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace vitrine {
namespace {

/// A line of /proc/self/status, such as "VmHWM:     1024 kB", in bytes.
std::optional<int64_t> status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return 1024 * std::stoll(line.substr(name.size() + 1));
  return std::nullopt;
}

/// Restarts the peak from the present.
bool reset_peak() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return out.good();
}

}  // namespace

std::optional<int64_t> process_peak_bytes() { return status_bytes("VmHWM"); }

PeakMemory::PeakMemory() {
  malloc_trim(0);
  if (reset_peak()) before_ = status_bytes("VmRSS");
}

std::optional<int64_t> PeakMemory::bytes() const {
  const auto peak = process_peak_bytes();
  if (!before_ || !peak) return std::nullopt;
  return std::max<int64_t>(0, *peak - *before_);
}

}  // namespace vitrine
