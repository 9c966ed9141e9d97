// What libFuzzer calls: the target that the build names.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"
#include "vitrine/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    vitrine::fuzz::VITRINE_TARGET({reinterpret_cast<const char*>(data), size});
  } catch (const vitrine::Error&) {
  }
  return 0;
}
