#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/formats/tfjs_manifest.h"

namespace vitrine::fuzz {

void tfjs(std::string_view bytes) {
  for (const auto& group : parse_tfjs_manifest(bytes, "input")) {
    for (const auto& file : group.files)
      must(!file.empty() && file.find('/') == file.npos && file != "..", "a file lies elsewhere");
    for (const auto& tensor : group.tensors) must(!tensor.dtype.empty(), "a tensor has no dtype");
  }
}

}  // namespace vitrine::fuzz
