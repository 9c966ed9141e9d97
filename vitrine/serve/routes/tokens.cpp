#include <algorithm>
#include <nlohmann/json.hpp>

#include "vitrine/serve/routes/common.h"
#include "vitrine/serve/routes/json_body.h"

// Looking inside networks that read digits or words.
namespace vitrine::serve {
namespace {

/// For each layer and head a list of rows, a query each.
ordered_json json_of(const std::vector<LayerWeights>& layers) {
  auto list = ordered_json::array();
  for (const auto& layer : layers) {
    auto heads = ordered_json::array();
    auto row = layer.values.begin();
    for (int64_t h = 0; h < layer.heads; ++h) {
      auto queries = ordered_json::array();
      for (int64_t q = 0; q < layer.queries; ++q, row += layer.keys)
        queries.push_back(std::vector<float>(row, row + layer.keys));
      heads.push_back(std::move(queries));
    }
    list.push_back({{"heads", std::move(heads)}});
  }
  return list;
}

ordered_json json_of(const PredictedSum& sum) {
  auto digits = ordered_json::array();
  for (const auto& values : sum.digits)
    digits.push_back({{"digit", std::max_element(values.begin(), values.end()) - values.begin()},
                      {"probabilities", values}});
  return digits;
}

Response add(const Request& request, const RouteContext& context) {
  constexpr int64_t kMost = 99;
  const auto deadline = deadline_of(request);
  JsonBody body(request);
  const auto active = context.models.get<ServedAdder>(body.text("model"), request.path);
  const NumberPair pair{static_cast<int>(body.integer("a", std::nullopt, 0, kMost)),
                        static_cast<int>(body.integer("b", std::nullopt, 0, kMost))};
  body.refuse_others();
  const auto answer =
      active.run(deadline, [pair](const ServedAdder& model) { return model.add(pair); });
  return json_response({{"model", active.card().name},
                        {"a", pair.a},
                        {"b", pair.b},
                        {"sum", answer.sum.value},
                        {"expected", pair.a + pair.b},
                        {"probability", answer.sum.probability},
                        {"digits", json_of(answer.sum)},
                        {"tokens", answer.tokens},
                        {"layers", json_of(answer.layers)}});
}

Response sentence(const Request& request, const RouteContext& context) {
  const auto deadline = deadline_of(request);
  JsonBody body(request);
  const auto active = context.models.get<ServedGenerator>(
      body.text("model"), request.path, "a model of words",
      [](const ServedGenerator& model) { return model.knows_words(); });
  const auto text = body.text("text");
  body.refuse_others();
  const auto answer =
      active.run(deadline, [text](const ServedGenerator& model) { return model.read(text); });
  auto next = ordered_json::array();
  for (const auto& word : answer.next)
    next.push_back({{"word", word.label}, {"probability", word.probability}});
  return json_response({{"model", active.card().name},
                        {"tokens", answer.tokens},
                        {"layers", json_of(answer.layers)},
                        {"next", next}});
}

}  // namespace

void add_token_routes(Router& router, const RouteContext& context) {
  router.add({"POST", "/v1/add", [&](const Request& r) { return add(r, context); }});
  router.add({"POST", "/v1/sentence", [&](const Request& r) { return sentence(r, context); }});
}

}  // namespace vitrine::serve
