#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "vitrine/core/image_files.h"
#include "vitrine/plot/colors.h"
#include "vitrine/serve/routes/common.h"

// Looking inside: explanations, attention weights, the logit lens, parts switched off.
namespace vitrine::serve {
namespace {

ExplainMethod method_of(const std::string& name, const ClassifierCard& card) {
  std::vector<std::string> offered;
  for (const auto method : card.methods) {
    offered.push_back(method_name(method));
    if (name == offered.back()) return method;
  }
  refuse(400, "method '{}' does not explain {}; it has {}", name, card.name,
         offered.empty() ? "none" : fmt::format("{}", fmt::join(offered, ", ")));
}

/// False of attention that never holds its weights.
bool holds_weights(const ClassifierCard& card) { return card.attention_bytes > 0; }

/// The map's values divided by the largest, and that.
ordered_json json_of(const ImageExplanation& e, const ClassifierCard& card,
                     const std::string& method) {
  const auto& matrix = e.map.multiples;
  const auto greatest = attention_map_range(e.map).high;
  auto values = ordered_json::array();
  for (const double value : matrix.values) values.push_back(greatest > 0 ? value / greatest : 0);
  return {{"model", card.name},
          {"method", method},
          {"class", {{"label", e.target.label}, {"index", e.target.index}}},
          {"grid", {matrix.rows, matrix.columns}},
          {"values", values},
          {"greatest", greatest},
          {"predictions", serve::json_of(e.predictions)}};
}

Response overlay_of(const ImageExplanation& e) {
  const auto& matrix = e.map.multiples;
  const auto range = plot::color_range({&matrix}, plot::ColorMap::Inferno, 0, std::nullopt);
  return {.type = "image/png",
          .body = encode_png(plot::overlay(e.image, matrix, plot::ColorMap::Inferno, range, {}))};
}

Response explain(const Request& request, const RouteContext& context) {
  const auto deadline = deadline_of(request);
  const auto active = classifier_of(request, context);
  const auto& card = active.card();
  const auto name = request.parameter("method").empty() ? "rollout" : request.parameter("method");
  const auto method = method_of(name, card);
  const auto held = hold_place(context.explaining, "explanations");
  const auto e =
      active.run(deadline, [held, method, image = image_of(request, context),
                            target = request.parameter("class")](const ServedClassifier& model) {
        return model.explain(image, method, target);
      });
  const bool as_image = request.header("accept").find("image/png") != std::string::npos;
  return as_image ? overlay_of(e) : json_response(json_of(e, card, name));
}

ordered_json json_of(const TokenGrid& grid) {
  return {{"rows", grid.rows}, {"columns", grid.columns}, {"prefix", grid.prefix}};
}

/// The length of a JSON header, the header, the bytes of all layers.
std::string packed(AttentionAnswer answer, const std::string& model) {
  auto layers = ordered_json::array();
  size_t size = 0;
  for (const auto& layer : answer.layers) {
    layers.push_back({{"name", fmt::format("layer {}", layers.size() + 1)},
                      {"heads", layer.heads},
                      {"queries", json_of(layer.queries)},
                      {"keys", json_of(layer.keys)},
                      {"offset", size},
                      {"scale", layer.scale}});
    size += layer.bytes.size();
  }
  const auto header = json_response({{"model", model},
                                     {"predictions", serve::json_of(answer.predictions)},
                                     {"layers", layers}})
                          .body;
  std::string bytes;
  bytes.reserve(sizeof(uint32_t) + header.size() + size);
  for (int shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>(header.size() >> shift & 0xFF);
  bytes += header;
  for (auto& layer : answer.layers) bytes += std::exchange(layer.bytes, {});  // never twice as much
  return bytes;
}

Response attention(const Request& request, const RouteContext& context) {
  const auto deadline = deadline_of(request);
  const auto active = classifier_of(request, context);
  const auto none = fmt::format("{} has no attention weights to show", active.card().name);
  require(holds_weights(active.card()), 404, "{}", none);
  auto held = context.answers.hold(active.card().attention_bytes);
  auto answer =
      active.run(deadline, [held, input = active.model().input_of(image_of(request, context))](
                               const ServedClassifier& model) { return model.attention(input); });
  return {.type = "application/octet-stream",
          .body = packed(std::move(answer), active.card().name),
          .held = std::move(held)};
}

Response head(const Request& request, const RouteContext& context) {
  constexpr int64_t kMost = 1'000'000;
  const auto deadline = deadline_of(request);
  const auto active = classifier_of(request, context);
  const auto none = fmt::format(
      "{} has no attention whose weights come from queries and keys alone", active.card().name);
  require(holds_weights(active.card()), 404, "{}", none);
  const auto index = [&](const char* name) {
    return integer_parameter(request, name, 0, 0, kMost);
  };
  const auto answer =
      active.run(deadline, [input = active.model().input_of(image_of(request, context)),
                            layer = index("layer"), head = index("head"),
                            query = index("query")](const ServedClassifier& model) {
        return model.head(input, layer, head, query);
      });
  require(answer.has_value(), 404, "{}", none);
  return json_response({{"q", answer->q},
                        {"k", answer->k},
                        {"v", answer->v},
                        {"scores", answer->scores},
                        {"weights", answer->weights},
                        {"scale", answer->scale}});
}

Response lens(const Request& request, const RouteContext& context) {
  const auto deadline = deadline_of(request);
  const auto active = classifier_of(request, context);
  const auto answers =
      active.run(deadline, [input = active.model().input_of(image_of(request, context))](
                               const ServedClassifier& model) { return model.lens(input); });
  auto layers = ordered_json::array();
  for (const auto& predictions : answers)
    layers.push_back(
        {{"name", layers.empty() ? "embedding" : fmt::format("block {}", layers.size())},
         {"predictions", serve::json_of(predictions)}});
  return json_response({{"model", active.card().name}, {"layers", layers}});
}

Switches switches_of(const std::string& text) {
  constexpr size_t kMaxSwitches = 100'000;
  Switches off;
  if (text.empty()) return off;
  try {
    const auto json = ordered_json::parse(text);
    for (const auto& [key, list] : json.items()) {
      if (key == "heads")
        for (const auto& pair : list) off.heads.emplace_back(pair.at(0), pair.at(1));
      else if (key == "layers")
        off.layers = list.get<std::vector<int64_t>>();
      else if (key == "patches")
        off.patches = list.get<std::vector<int64_t>>();
      else if (key == "grid")
        std::tie(off.rows, off.columns) = list.get<std::pair<int64_t, int64_t>>();
      else
        refuse(400, "switch: '{}' is not known (known: heads, layers, patches, grid)", key);
    }
  } catch (const nlohmann::json::exception& e) {
    throw HttpError(400, fmt::format("switch: expected {{\"heads\": [[layer, head]], \"layers\": "
                                     "[layer], \"patches\": [index]}} ({})",
                                     e.what()));
  }
  require(off.heads.size() + off.layers.size() + off.patches.size() <= kMaxSwitches, 400,
          "switch: expected at most {} entries", kMaxSwitches);
  return off;
}

Response ablate(const Request& request, const RouteContext& context) {
  const auto begin = Clock::now();
  const auto deadline = deadline_of(request);
  const auto active = classifier_of(request, context);
  const auto k = top_parameter(request);
  const auto logits = active.run(
      deadline, [off = switches_of(request.part("switch")),
                 input = active.model().input_of(image_of(request, context))](
                    const ServedClassifier& model) { return model.ablated_logits(input, off); });
  const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
  return json_response({{"model", active.card().name},
                        {"predictions", serve::json_of(active.model().top(logits, k))},
                        {"milliseconds", time.count()}});
}

}  // namespace

void add_explore_routes(Router& router, const RouteContext& context) {
  router.add({"POST", "/v1/explain", [&](const Request& r) { return explain(r, context); }});
  router.add({"POST", "/v1/attention", [&](const Request& r) { return attention(r, context); }});
  router.add({"POST", "/v1/head", [&](const Request& r) { return head(r, context); }});
  router.add({"POST", "/v1/lens", [&](const Request& r) { return lens(r, context); }});
  router.add({"POST", "/v1/ablate", [&](const Request& r) { return ablate(r, context); }});
}

}  // namespace vitrine::serve
