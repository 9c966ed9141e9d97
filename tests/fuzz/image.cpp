#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/core/image_files.h"
#include "vitrine/data/resize.h"

namespace vitrine::fuzz {

void image(std::string_view bytes) {
  const auto size = stated_image_size(bytes);
  const auto decoded = decode_image(bytes, "input");
  must(size && size->width == decoded.width && size->height == decoded.height,
       "the header states another size");
  // As `predict` does on its way to a small network, whatever the proportions.
  const auto seen = resized_centre(decoded, 9, 8, Interpolation::Bicubic);
  must(seen.width == 8 && seen.height == 8, "the centre has another size");
}

}  // namespace vitrine::fuzz
