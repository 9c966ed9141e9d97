// Requests of the Open Inference Protocol. A first line of digits is the header that says how long
// the JSON is before binary tensors.
#include <cmath>

#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"
#include "vitrine/serve/routes/infer_request.h"

namespace vitrine::fuzz {

void tensor_json(std::string_view bytes) {
  serve::Request request{.method = "POST"};
  const auto end = bytes.find('\n');
  if (!bytes.empty() && bytes[0] >= '0' && bytes[0] <= '9' && end != bytes.npos) {
    request.headers["inference-header-content-length"] = std::string(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  request.body = std::string(bytes);
  const auto tensors = serve::read_infer_request(request, {1, 2, 2});
  must(tensors.rows >= 1 && std::ssize(tensors.values) == 4 * tensors.rows, "numbers are missing");
  for (const float value : tensors.values) must(std::isfinite(value), "a number is not finite");
}

}  // namespace vitrine::fuzz
