#include <nlohmann/json.hpp>

#include "vitrine/serve/routes/common.h"
#include "vitrine/serve/routes/infer_request.h"

// The Open Inference Protocol, version 2, over HTTP, with its extensions for binary tensors and for
// the model repository. A classifier has one input, "image", one output, "logits", and version "1";
// other kinds have no tensors.
namespace vitrine::serve {
namespace {

constexpr const char* kVersion = "1";

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
  auto place = active.queue().reserve();
  auto asked = [&] {
    const Place decoding(context.decoding);
    return read_infer_request(request, {card.channels, card.image, card.image});
  }();
  const auto rows = asked.rows;
  const auto logits =
      active.queue().infer(std::move(place), std::move(asked.values), rows, deadline);
  ordered_json output = {{"name", InferRequest::kOutput},
                         {"datatype", "FP32"},
                         {"shape", {rows, card.classes.size()}}};
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
    inputs = tensor(InferRequest::kInput, {-1, card.channels, card.image, card.image});
    outputs = tensor(InferRequest::kOutput, {-1, card.classes.size()});
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
