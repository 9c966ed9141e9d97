#include "vitrine/serve/routes/infer_request.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "vitrine/serve/routes/json_body.h"

namespace vitrine::serve {
namespace {

using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "binary tensors are little-endian");

constexpr const char *kInput = InferRequest::kInput, *kOutput = InferRequest::kOutput;

void flatten(const ordered_json& data, std::vector<float>& to, int depth) {
  constexpr int kDimensions = 4;
  for (const auto& value : data) {
    if (value.is_array() && depth < kDimensions) {
      flatten(value, to, depth + 1);
    } else {
      require(value.is_number(), 400, "input '{}': data has {}, expected numbers", kInput,
              value.type_name());
      to.push_back(value.get<float>());
    }
  }
}

std::vector<float> floats_of(std::string_view bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// The number of examples; throws unless the shape is (B, channels, image, image).
int64_t rows_of(const ordered_json& shape, const InputShape& input_shape) {
  const auto wanted = fmt::format("[B, {}]", fmt::join(input_shape, ", "));
  const bool fits = shape.is_array() && shape.size() == 4 && shape[0].is_number_integer() &&
                    shape[0] >= 1 && shape[0] <= 100000 && shape[1] == input_shape[0] &&
                    shape[2] == input_shape[1] && shape[3] == input_shape[2];
  require(fits, 400, "input '{}': shape {} is not {}", kInput, shown(shape), wanted);
  return shape[0];
}

void read_outputs(const ordered_json& json, InferRequest& to) {
  if (const auto found = json.find("parameters"); found != json.end())
    to.binary_output = found->value("binary_data_output", false);
  const auto outputs = json.find("outputs");
  if (outputs == json.end()) return;
  for (const auto& output : *outputs) {
    const auto name = output.value("name", "");
    require(name == kOutput, 400, "output '{}' is not known; the model has '{}'", name, kOutput);
    const auto parameters = output.value("parameters", ordered_json::object());
    require(!parameters.contains("classification"), 400,
            "output '{}': the classification extension is not offered; use /v1/classify", kOutput);
    to.binary_output = parameters.value("binary_data", to.binary_output);
  }
}

InferRequest read_tensors(const ordered_json& json, std::string_view binary,
                          const InputShape& input_shape) {
  InferRequest to{.id = json.value("id", "")};
  const auto inputs = json.find("inputs");
  require(inputs != json.end() && inputs->is_array() && inputs->size() == 1, 400,
          "inputs: expected a list with one tensor, '{}'", kInput);
  const auto& input = inputs->front();
  require(input.value("name", "") == kInput, 400, "input '{}' is not known; the model has '{}'",
          input.value("name", ""), kInput);
  require(input.value("datatype", "") == "FP32", 400, "input '{}': datatype '{}' is not FP32",
          kInput, input.value("datatype", ""));
  to.rows = rows_of(input.value("shape", ordered_json()), input_shape);
  const auto size =
      input.value("parameters", ordered_json::object()).value("binary_data_size", -1LL);
  if (size >= 0) {
    require(size == std::ssize(binary), 400,
            "input '{}': binary_data_size {} is not the {} bytes behind the header", kInput, size,
            binary.size());
    to.values = floats_of(binary);
  } else {
    require(input.contains("data") && input["data"].is_array(), 400, "input '{}' has no data",
            kInput);
    flatten(input["data"], to.values, 1);
  }
  const auto wanted = to.rows * input_shape[0] * input_shape[1] * input_shape[2];
  require(std::ssize(to.values) == wanted, 400, "input '{}': {} numbers, but its shape has {}",
          kInput, to.values.size(), wanted);
  const bool finite =
      std::all_of(to.values.begin(), to.values.end(), [](float v) { return std::isfinite(v); });
  require(finite, 400, "input '{}': not all numbers are finite", kInput);
  read_outputs(json, to);
  return to;
}

}  // namespace

InferRequest read_infer_request(const Request& request, const InputShape& input_shape) {
  const std::string_view body = request.body;
  auto header = body;
  if (const auto text = request.header("inference-header-content-length"); !text.empty()) {
    const bool digits = text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
    require(digits && std::stoull(text) <= body.size(), 400,
            "Inference-Header-Content-Length: {} does not fit a body of {} bytes", text,
            body.size());
    header = body.substr(0, std::stoull(text));
  }
  refuse_deep_json(header);
  try {
    return read_tensors(ordered_json::parse(header), body.substr(header.size()), input_shape);
  } catch (const nlohmann::json::exception& e) {
    throw HttpError(400, fmt::format("the body is not an inference request: {}", e.what()));
  }
}

}  // namespace vitrine::serve
