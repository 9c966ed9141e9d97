#include <nlohmann/json.hpp>

#include "vitrine/serve/routes/common.h"

// Models, classification and metrics.
namespace vitrine::serve {
namespace {

/// What a model of any kind has; the kind's own follows.
ordered_json json_of(const ModelCard& card, const char* kind, const char* task) {
  return {{"name", card.name},     {"kind", kind}, {"model", card.model},
          {"family", card.family}, {"task", task}, {"parameters", card.parameters}};
}

ordered_json json_of(const ClassifierCard& card) {
  auto json = json_of(card, "classifier", "classify");
  json["image"] = card.image;
  json["resize"] = card.resize;
  json["stretch"] = card.stretch;
  json["classes"] = card.classes.size();
  json["class_names"] = card.classes;
  json["explain"] = ordered_json::array();
  for (const auto method : card.methods) json["explain"].push_back(method_name(method));
  return json;
}

ordered_json json_of(const GeneratorCard& card) {
  auto json = json_of(card, "generator", "generate");
  json["unit"] = card.unit;
  json["image"] = serve::json_of(card.image);
  json["context"] = card.context;
  if (!card.vocabulary.empty()) json["vocabulary"] = card.vocabulary;
  return json;
}

ordered_json json_of(const ServedModel& model) {
  switch (model.kind()) {
    case ModelKind::Classifier:
      return json_of(static_cast<const ServedClassifier&>(model).card());
    case ModelKind::Generator:
      return json_of(static_cast<const ServedGenerator&>(model).card());
    case ModelKind::Adder:
      return json_of(model.card(), "adder", "add");
  }
  return {};
}

Response list_models(const RouteContext& context) {
  auto list = ordered_json::array();
  for (const auto& active : context.models.loaded()) list.push_back(json_of(*active->model));
  return json_response({{"models", list}});
}

Response classify(const Request& request, const RouteContext& context) {
  const auto begin = Clock::now();
  const auto deadline = deadline_of(request);
  const auto active = classifier_of(request, context);
  const auto& model = active.model();
  const auto k = top_parameter(request);
  auto place = active.queue().reserve();
  const auto logits = active.queue().infer(std::move(place),
                                           model.input_of(image_of(request, context)), 1, deadline);
  const auto predictions = model.top(logits, k);
  const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
  return json_response({{"model", model.card().name},
                        {"predictions", serve::json_of(predictions)},
                        {"milliseconds", time.count()}});
}

Response prometheus(const RouteContext& context) {
  std::vector<QueueLength> queues;
  for (const auto& active : context.models.loaded())
    queues.push_back({active->model->card().name, active->queue.waiting()});
  return {.type = "text/plain; version=0.0.4", .body = context.metrics.text(queues)};
}

}  // namespace

void add_people_routes(Router& router, const RouteContext& context) {
  router.add({"GET", "/v1/models", [&](const Request&) { return list_models(context); }});
  router.add({"POST", "/v1/classify", [&](const Request& r) { return classify(r, context); }});
  router.add({"GET", "/metrics", [&](const Request&) { return prometheus(context); }});
}

}  // namespace vitrine::serve
