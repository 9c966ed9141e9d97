#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "vitrine/serve/routes/common.h"

// The Open Inference Protocol, version 2, over HTTP, with its extensions for binary tensors and for
// the model repository. A classifier has one input, "image", one output, "logits", and version "1";
// other kinds have no tensors.
namespace vitrine::serve {
namespace {

static_assert(std::endian::native == std::endian::little, "binary tensors are little-endian");

constexpr const char *kInput = "image", *kOutput = "logits", *kVersion = "1";

/// The tensors of a request.
struct InferRequest {
  std::string id{};
  int64_t rows = 0;
  std::vector<float> values{};
  bool binary_output = false;
};

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
int64_t rows_of(const ordered_json& shape, const ClassifierCard& card) {
  const auto wanted = fmt::format("[B, {}, {}, {}]", card.channels, card.image, card.image);
  const auto rest = ordered_json::array({card.channels, card.image, card.image});
  const bool fits = shape.is_array() && shape.size() == 4 && shape[0].is_number_integer() &&
                    shape[0] >= 1 && shape[0] <= 100000 && shape[1] == rest[0] &&
                    shape[2] == rest[1] && shape[3] == rest[2];
  require(fits, 400, "input '{}': shape {} is not {}", kInput, shape.dump(), wanted);
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
                          const ClassifierCard& card) {
  InferRequest to{.id = json.value("id", "")};
  const auto inputs = json.find("inputs");
  require(inputs != json.end() && inputs->is_array() && inputs->size() == 1, 400,
          "inputs: expected a list with one tensor, '{}'", kInput);
  const auto& input = inputs->front();
  require(input.value("name", "") == kInput, 400, "input '{}' is not known; the model has '{}'",
          input.value("name", ""), kInput);
  require(input.value("datatype", "") == "FP32", 400, "input '{}': datatype '{}' is not FP32",
          kInput, input.value("datatype", ""));
  to.rows = rows_of(input.value("shape", ordered_json()), card);
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
  require(std::ssize(to.values) == to.rows * card.input_values(), 400,
          "input '{}': {} numbers, but its shape has {}", kInput, to.values.size(),
          to.rows * card.input_values());
  for (const float value : to.values)
    require(std::isfinite(value), 400, "input '{}': not all numbers are finite", kInput);
  read_outputs(json, to);
  return to;
}

InferRequest read_request(const Request& request, const ClassifierCard& card,
                          const RouteContext& context) {
  const Place place(context.decoding);
  const std::string_view body = request.body;
  auto header = body;
  if (const auto text = request.header("inference-header-content-length"); !text.empty()) {
    const bool digits = text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
    require(digits && std::stoull(text) <= body.size(), 400,
            "Inference-Header-Content-Length: {} does not fit a body of {} bytes", text,
            body.size());
    header = body.substr(0, std::stoull(text));
  }
  try {
    return read_tensors(ordered_json::parse(header), body.substr(header.size()), card);
  } catch (const nlohmann::json::exception& e) {
    throw HttpError(400, fmt::format("the body is not an inference request: {}", e.what()));
  }
}

void check_version(const Request& request) {
  const auto found = request.captured.find("version");
  require(found == request.captured.end() || found->second == kVersion, 404,
          "version '{}' is not known; there is version {}",
          found == request.captured.end() ? "" : found->second, kVersion);
}

std::shared_ptr<ActiveModel> model_of(const Request& request, const RouteContext& context) {
  check_version(request);
  return context.models.get(request.path_part("model"));
}

Response infer(const Request& request, const RouteContext& context) {
  const auto deadline = deadline_of(request);
  check_version(request);
  const auto active =
      context.models.get<ServedClassifier>(request.path_part("model"), request.path);
  const auto& card = active.card();
  auto asked = read_request(request, card, context);
  const auto rows = asked.rows;
  const auto logits = active.queue().infer(std::move(asked.values), rows, deadline);
  ordered_json output = {
      {"name", kOutput}, {"datatype", "FP32"}, {"shape", {rows, card.classes.size()}}};
  const auto bytes = logits.size() * sizeof(float);
  if (asked.binary_output)
    output["parameters"] = {{"binary_data_size", bytes}};
  else
    output["data"] = logits;
  ordered_json json = {{"model_name", card.name}, {"model_version", kVersion}};
  if (!asked.id.empty()) json["id"] = asked.id;
  json["outputs"] = ordered_json::array({output});
  auto response = json_response(json);
  if (!asked.binary_output) return response;
  response.type = "application/octet-stream";
  response.headers.emplace_back("Inference-Header-Content-Length",
                                std::to_string(response.body.size()));
  response.body.append(reinterpret_cast<const char*>(logits.data()), bytes);
  return response;
}

Response server_metadata() {
  return json_response({{"name", "vitrine"},
                        {"version", VITRINE_VERSION},
                        {"extensions", {"binary_tensor_data", "model_repository"}}});
}

Response model_metadata(const Request& request, const RouteContext& context) {
  const auto active = model_of(request, context);
  auto inputs = ordered_json::array(), outputs = ordered_json::array();  // empty: infer is refused
  if (active->model->kind() == ModelKind::Classifier) {
    const auto& card = static_cast<const ServedClassifier&>(*active->model).card();
    const auto tensor = [](const char* name, const ordered_json& shape) {
      return ordered_json::array({{{"name", name}, {"datatype", "FP32"}, {"shape", shape}}});
    };
    inputs = tensor(kInput, {-1, card.channels, card.image, card.image});
    outputs = tensor(kOutput, {-1, card.classes.size()});
  }
  return json_response({{"name", active->model->card().name},
                        {"versions", {kVersion}},
                        {"platform", "vitrine"},
                        {"inputs", inputs},
                        {"outputs", outputs}});
}

Response model_ready(const Request& request, const RouteContext& context) {
  const auto active = model_of(request, context);
  return json_response({{"name", active->model->card().name}, {"ready", true}});
}

Response server_ready(const RouteContext& context) {
  auto response = json_response({{"ready", !context.draining}});
  if (context.draining) response.status = 503;
  return response;
}

Response repository_index(const RouteContext& context) {
  auto list = ordered_json::array();
  for (const auto& state : context.models.states())
    list.push_back({{"name", state.name},
                    {"version", kVersion},
                    {"state", state.ready ? "READY" : "UNAVAILABLE"},
                    {"reason", state.reason}});
  return json_response(list);
}

}  // namespace

void add_infer_routes(Router& router, const RouteContext& context) {
  const bool open = true;
  router.add({"GET", "/v2", [](const Request&) { return server_metadata(); }});
  router.add({"GET", "/v2/health/live",
              [](const Request&) {
                return json_response({{"live", true}});
              },
              open});
  router.add(
      {"GET", "/v2/health/ready", [&](const Request&) { return server_ready(context); }, open});
  for (const std::string at : {"/v2/models/{model}", "/v2/models/{model}/versions/{version}"}) {
    router.add({"GET", at, [&](const Request& r) { return model_metadata(r, context); }});
    router.add({"GET", at + "/ready", [&](const Request& r) { return model_ready(r, context); }});
    router.add({"POST", at + "/infer", [&](const Request& r) { return infer(r, context); }});
  }
  router.add(
      {"POST", "/v2/repository/index", [&](const Request&) { return repository_index(context); }});
  router.add({"POST", "/v2/repository/models/{model}/load", [&](const Request& r) {
                context.models.load(r.path_part("model"));
                return json_response(ordered_json::object());
              }});
  router.add({"POST", "/v2/repository/models/{model}/unload", [&](const Request& r) {
                context.models.unload(r.path_part("model"));
                return json_response(ordered_json::object());
              }});
}

}  // namespace vitrine::serve
