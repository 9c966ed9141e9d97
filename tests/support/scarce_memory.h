#pragma once

#include <cstdint>

namespace vitrine::test {

/// While it lives, one allocation of this thread, counted from 1, gets no memory. A test program
/// that compiles scarce_memory.cpp calls its malloc and posix_memalign in place of those of the C
/// library, and so do the libraries that it uses.
class ScarceMemory {
 public:
  explicit ScarceMemory(int64_t failing);
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;
  ~ScarceMemory();

  /// Whether that allocation has come.
  bool has_failed() const;

  /// False in programs with sanitizers, whose memory is managed by them.
  static bool is_possible();
};

}  // namespace vitrine::test
