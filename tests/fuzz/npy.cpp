#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/formats/byte_count.h"
#include "vitrine/formats/npy_header.h"

namespace vitrine::fuzz {

void npy(std::string_view bytes) {
  const auto array = split_npy(bytes, "input");
  must(array.header.shape.size() <= kMaxDimensions, "too many dimensions");
  check_npy_size(array, "input");
  must(array.data.data() + array.data.size() == bytes.data() + bytes.size(),
       "the data lie outside");
}

}  // namespace vitrine::fuzz
