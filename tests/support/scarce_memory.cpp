#include "tests/support/scarce_memory.h"

#include <cerrno>
#include <cstdlib>

namespace vitrine::test {
namespace {

constinit thread_local int64_t allocations_left = 0;  // up to the failing one; 0: none fails
constinit thread_local bool failed = false;

/// Whether this allocation is the one that fails.
[[maybe_unused]] bool fails_now() {
  if (allocations_left == 0 || --allocations_left > 0) return false;
  failed = true;
  return true;
}

}  // namespace

ScarceMemory::ScarceMemory(int64_t failing) {
  failed = false;
  allocations_left = failing;
}
ScarceMemory::~ScarceMemory() { allocations_left = 0; }

bool ScarceMemory::has_failed() const { return failed; }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

bool ScarceMemory::is_possible() { return false; }
}  // namespace vitrine::test

#else

bool ScarceMemory::is_possible() { return true; }
}  // namespace vitrine::test

extern "C" {

void* __libc_malloc(size_t size);                      // NOLINT: these are names
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT: of the C library

void* malloc(size_t size) noexcept {
  if (!vitrine::test::fails_now()) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}

int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  if (vitrine::test::fails_now()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"

#endif
