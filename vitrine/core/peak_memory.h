#pragma once

#include <cstdint>
#include <optional>

namespace vitrine {

/// The most memory that the process has had at once, in bytes, since it started or since the last
/// PeakMemory; nothing where the system does not tell.
std::optional<int64_t> process_peak_bytes();

/// How far the memory of the process rises above what it has now. One at a time.
class PeakMemory {
 public:
  /// Gives freed memory back to the system first, so that its use counts.
  PeakMemory();
  /// In bytes, up to now; nothing where the system does not tell.
  std::optional<int64_t> bytes() const;

 private:
  std::optional<int64_t> before_;
};

}  // namespace vitrine
