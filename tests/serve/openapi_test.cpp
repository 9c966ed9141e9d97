#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/support/event_client.h"
#include "tests/support/small_generators.h"
#include "tests/support/small_server.h"
#include "vitrine/data/sentences.h"
#include "vitrine/train/predictions.h"

namespace vitrine::serve {
namespace {

/// Images of 16 x 16 pixels as bytes.
const std::string kImages =
    "{name: sparse_c10_tiny, rows: 16, columns: 16, layers: 1, heads: 2, dim: 16, key_width: 8, "
    "hidden: 24, pattern: {stride: 16}}";

nlohmann::json document_of(const test::SmallServer& s) {
  return test::json_of(s.client().Get("/openapi.json"));
}

/// Whether the value has the properties that the schema requires, and of its types.
void expect_fits(const nlohmann::json& value, const nlohmann::json& schema,
                 const nlohmann::json& document, const std::string& where) {
  if (schema.contains("$ref")) {
    const auto pointer = schema["$ref"].get<std::string>().substr(1);
    return expect_fits(value, document.at(nlohmann::json::json_pointer(pointer)), document, where);
  }
  const std::string type = schema.value("type", "");
  EXPECT_TRUE(type != "object" || value.is_object()) << where;
  EXPECT_TRUE(type != "array" || value.is_array()) << where;
  EXPECT_TRUE(type != "string" || value.is_string()) << where;
  EXPECT_TRUE(type != "integer" || value.is_number_integer()) << where;
  EXPECT_TRUE(type != "number" || value.is_number()) << where;
  for (const auto& name : schema.value("required", std::vector<std::string>{})) {
    ASSERT_TRUE(value.contains(name)) << where << " has no " << name;
    expect_fits(value[name], schema["properties"][name], document, where + "." + name);
  }
  for (const auto& item : type == "array" ? value : nlohmann::json::array())
    expect_fits(item, schema["items"], document, where + "[]");
}

}  // namespace

TEST(OpenApi, ListsEveryRouteAndNoOther) {
  const test::SmallServer s;
  std::set<std::string> routes, documented;
  for (const auto& route : s.server->app().routes())
    routes.insert(route.method + " " + route.pattern);
  const auto document = document_of(s);
  for (const auto& [path, operations] : document["paths"].items())
    for (const auto& [method, operation] : operations.items())
      documented.insert((method == "get" ? "GET " : "POST ") + path);
  EXPECT_EQ(routes, documented);
}

TEST(OpenApi, EveryRouteAnswersAsItSays) {
  const test::TemporaryFolder folder;
  const auto images = (folder / "images.safetensors").string(),
             words = (folder / "words.safetensors").string(),
             adder = (folder / "adder.safetensors").string();
  test::save_shaken(images, kImages);
  test::save_shaken(words, test::kSentences, sentence_vocabulary().words());
  test::save_shaken(adder, "{name: addition_transformer}");
  fs::create_directories(folder / "runs/run");
  write_file_atomically(folder / "runs/run/recipe.yaml",
                        "model: {name: vit_ti16}\ndata: {dataset: {name: synthetic, test: 8}}\n");
  write_predictions(folder / "runs/run/predictions.json",
                    {.classes = {"stripes 0"}, .examples = {{.probability = 0.5}}});
  fs::create_directories(folder / "sweeps/run/runs");
  write_file_atomically(folder / "sweeps/run/sweep.yaml",
                        "name: run\nrecipe: recipe.yaml\ngrid: {train.epochs: [1, 2]}\n");
  write_file_atomically(folder / "sweeps/run/runs/train.epochs=1,seed=1.failed", "no memory\n");
  write_file_atomically(folder / "runs/run/result.json", "{\"epochs\": 1}");
  const test::SmallServer s({.runs = folder / "runs", .sweeps = folder / "sweeps"}, "vit_c10_small",
                            test::kSmallVit, {images, words, adder});
  const auto document = document_of(s);
  const nlohmann::json infer = {{"inputs",
                                 {{{"name", "image"},
                                   {"datatype", "FP32"},
                                   {"shape", {1, 3, 16, 16}},
                                   {"data", std::vector<float>(3 * 16 * 16)}}}}};
  const std::map<std::string, nlohmann::json> bodies = {
      {"/v2/models/small/infer", infer},
      {"/v2/models/small/versions/1/infer", infer},
      {"/v1/add", {{"a", 57}, {"b", 68}}},
      {"/v1/sample", {{"model", "words"}, {"count", 2}}},
      {"/v1/sentence", {{"text", "The cat"}}}};
  for (const auto& [pattern, operations] : document["paths"].items()) {
    auto path = std::regex_replace(pattern, std::regex("\\{name\\}"), "run");
    path = std::regex_replace(path, std::regex("\\{model\\}"), "small");
    path = std::regex_replace(path, std::regex("\\{version\\}"), "1");
    path = std::regex_replace(path, std::regex("\\{index\\}"), "0");
    if (path.ends_with("/unload")) continue;  // the others need the model
    for (const auto& [method, operation] : operations.items()) {
      auto client = s.client();
      const httplib::MultipartFormDataItems form = {{"image", test::noise_png(1), "", test::kPng}};
      const auto answer = method == "get" ? client.Get(path)
                          : bodies.contains(path)
                              ? client.Post(path, bodies.at(path).dump(), "application/json")
                          : path.starts_with("/v1/") ? client.Post(path, form)
                                                     : client.Post(path);
      ASSERT_TRUE(answer) << path;
      EXPECT_EQ(answer->status, 200) << path << answer->body;
      const auto& content = operation["responses"]["200"]["content"];
      const auto type = answer->get_header_value("Content-Type");
      const auto plain = type.substr(0, type.find(';'));
      ASSERT_TRUE(content.contains(plain)) << path << ' ' << type;
      if (plain == "application/json")
        expect_fits(nlohmann::json::parse(answer->body), content[plain]["schema"], document, path);
      auto text = plain == "text/event-stream" ? answer->body : "";
      const auto& events = document["components"]["schemas"]["Events"]["properties"];
      for (const auto& event : test::take_events(text))
        expect_fits(event.data, events.at(event.name), document, path + " " + event.name);
    }
  }
  EXPECT_EQ(s.client().Post("/v2/repository/models/small/unload")->status, 200);
}

}  // namespace vitrine::serve
