// What libFuzzer calls: the door that the build names.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/doors.h"
#include "vitrine/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    vitrine::fuzz::VITRINE_DOOR({reinterpret_cast<const char*>(data), size});
  } catch (const vitrine::Error&) {
  }
  return 0;
}
