#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/serve/http.h"

namespace vitrine::serve {

/// Of one example: channels, height, width.
using InputShape = std::array<int64_t, 3>;

/// What a request of the Open Inference Protocol asks of a classifier.
struct InferRequest {
  static constexpr const char *kInput = "image", *kOutput = "logits";  // its tensors

  std::string id{};
  int64_t rows = 0;
  std::vector<float> values{};  // (rows, channels, height, width)
  bool binary_output = false;
};

/// Reads the tensors, as JSON or as bytes behind it; answers 400 to whatever does not fit.
InferRequest read_infer_request(const Request& request, const InputShape& input_shape);

}  // namespace vitrine::serve
