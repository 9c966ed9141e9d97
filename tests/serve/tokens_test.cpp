#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/zoo_server.h"
#include "vitrine/infer/addition_predictor.h"
#include "vitrine/infer/generator.h"

namespace vitrine::serve {
namespace {

using nlohmann::json;

json post(const test::ZooServer& s, const std::string& path, const json& body) {
  const auto answer = s.client().Post(path, body.dump(), "application/json");
  EXPECT_TRUE(answer && answer->status == 200) << (answer ? answer->body : "none");
  return test::json_of(answer);
}

void expect_refusal(const test::ZooServer& s, const std::string& path, const json& body,
                    const std::string& words) {
  test::expect_error(s.client().Post(path, body.dump(), "application/json"), 400, words);
}

/// Expects layers x heads x `tokens` x `tokens` weights whose rows sum to 1.
void expect_weights(const json& layers, size_t count, size_t heads, size_t tokens) {
  ASSERT_EQ(layers.size(), count);
  for (const auto& layer : layers) {
    ASSERT_EQ(layer["heads"].size(), heads);
    for (const auto& head : layer["heads"]) {
      ASSERT_EQ(head.size(), tokens);
      for (const auto& row : head) {
        ASSERT_EQ(row.size(), tokens);
        const auto weights = row.get<std::vector<double>>();
        EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-5);
      }
    }
  }
}

}  // namespace

TEST(ServeAdd, AddsAsThePredictorDoesAndShowsItsAttention) {
  const test::ZooServer s({{"transformer", "{name: addition_transformer}"},
                           {"cnn", "{name: addition_cnn, embed: 8, channels: 8}"}});
  for (const std::string model : {"transformer", "cnn"}) {
    const auto answer = post(s, "/v1/add", {{"model", model}, {"a", 57}, {"b", 8}});
    const auto sum = AdditionPredictor::load(s.path_of(model)).add({57, 8});
    EXPECT_EQ(answer["model"], model);
    EXPECT_EQ(answer["a"], 57);
    EXPECT_EQ(answer["b"], 8);
    EXPECT_EQ(answer["expected"], 65);
    EXPECT_EQ(answer["sum"], sum.value);
    EXPECT_DOUBLE_EQ(answer["probability"], sum.probability);
    EXPECT_EQ(answer["tokens"], (std::vector<std::string>{"5", "7", "0", "8"}));
    ASSERT_EQ(answer["digits"].size(), 3);
    int value = 0;
    double probability = 1;
    for (const auto& digit : answer["digits"]) {
      const auto chances = digit["probabilities"].get<std::vector<double>>();
      ASSERT_EQ(chances.size(), 10);
      EXPECT_NEAR(std::accumulate(chances.begin(), chances.end(), 0.0), 1, 1e-6);
      value = 10 * value + digit["digit"].get<int>();
      probability *= chances[digit["digit"].get<size_t>()];
    }
    EXPECT_EQ(value, sum.value);
    EXPECT_NEAR(probability, sum.probability, 1e-12);
  }
  expect_weights(post(s, "/v1/add", {{"model", "transformer"}, {"a", 1}, {"b", 99}})["layers"],
                 /*count=*/2, /*heads=*/2, /*tokens=*/4);
  EXPECT_TRUE(post(s, "/v1/add", {{"model", "cnn"}, {"a", 1}, {"b", 99}})["layers"].empty());
}

TEST(ServeAdd, NamesWhatIsWrong) {
  const test::ZooServer s({{"adder", "{name: addition_cnn}"}, {"words", test::kSentences}});
  expect_refusal(s, "/v1/add", {{"a", 100}, {"b", 1}}, "a: 100 is not a whole number from 0 to 99");
  expect_refusal(s, "/v1/add", {{"a", 1}}, "b: nothing is not a whole number");
  expect_refusal(s, "/v1/add", {{"a", "1"}, {"b", 1}}, "a: \"1\"");
  expect_refusal(s, "/v1/add", {{"model", "words"}, {"a", 1}, {"b", 1}},
                 "words generates text; /v1/add takes an addition network");
  const auto number = R"({"a": 18446744073709551615, "b": 1})";
  test::expect_error(s.client().Post("/v1/add", number, "application/json"), 400, "a: 1844");
}

TEST(ServeSentence, ReadsASentenceAndSaysWhatFollows) {
  const test::ZooServer s({{"words", test::kSentences}});
  const auto answer = post(s, "/v1/sentence", {{"text", "The cat sat"}});
  EXPECT_EQ(answer["model"], "words");
  EXPECT_EQ(answer["tokens"], (std::vector<std::string>{"<start>", "the", "cat", "sat"}));
  expect_weights(answer["layers"], /*count=*/1, /*heads=*/2, /*tokens=*/4);
  EXPECT_EQ(answer["layers"][0]["heads"][0][0][1], 0);  // a word sees none behind it
  ASSERT_EQ(answer["next"].size(), 10);
  const auto generator = Generator::load(s.path_of("words"));
  const auto& vocabulary = *generator.words();
  // The likeliest word is the one that sampling takes where it takes the likeliest.
  const auto taken =
      generator.sample({.count = 1,
                        .top_k = 1,
                        .prefix = torch::tensor(generator.tokens_of("The cat sat")).unsqueeze(0)});
  EXPECT_EQ(answer["next"][0]["word"], vocabulary.word(taken[0][3].item<int64_t>()));
  for (size_t i = 1; i < 10; ++i)
    EXPECT_GE(answer["next"][i - 1]["probability"], answer["next"][i]["probability"]);
  EXPECT_EQ(post(s, "/v1/sentence", json::object())["tokens"], std::vector<std::string>{"<start>"});
}

TEST(ServeSentence, HasNoWeightsOfAttentionThatNeverHoldsThem) {
  const std::string performer =
      "{name: word_transformer, dim: 16, heads: 2, hidden: 24, layers: 1, attention: {kind: "
      "performer}}";
  const test::ZooServer s({{"words", performer}});
  const auto answer = post(s, "/v1/sentence", {{"text", "The cat"}});
  EXPECT_TRUE(answer["layers"].empty());
  EXPECT_EQ(answer["next"].size(), 10);
}

TEST(ServeSentence, NamesWhatIsWrong) {
  const test::ZooServer s({{"words", test::kSentences}, {"bytes", test::kTextBytes}});
  const auto refused = [&](const json& body, const std::string& words) {
    expect_refusal(s, "/v1/sentence", body, words);
  };
  refused({{"text", "The catt zzat"}}, "the words 'catt', 'zzat' are not in");
  refused({{"text", "The catt zzat"}}, "such as ");
  std::string many;
  for (int i = 0; i < 16; ++i) many += "the ";
  refused({{"text", many}}, "16 words and the start are more than the 16 tokens");
  refused({{"model", "bytes"}, {"text", "a"}},
          "bytes generates text; /v1/sentence takes a model of words");
}

TEST(ServeKinds, DescribesModelsOfEveryKind) {
  const test::ZooServer s({{"bytes", test::kImageBytes},
                           {"colors", test::kImageColors},
                           {"texts", test::kTextBytes},
                           {"words", test::kSentences},
                           {"adder", "{name: addition_cnn}"}});
  std::map<std::string, json> models;
  const auto answer = test::json_of(s.client().Get("/v1/models"));
  for (const auto& model : answer["models"]) models[model["name"]] = model;
  EXPECT_EQ(models["adder"]["kind"], "adder");
  EXPECT_EQ(models["adder"]["model"], "addition_cnn");
  EXPECT_GT(models["adder"]["parameters"], 0);
  EXPECT_EQ(models["bytes"]["kind"], "generator");
  EXPECT_EQ(models["bytes"]["unit"], "bytes");
  EXPECT_EQ(models["bytes"]["image"], json({{"width", 5}, {"height", 4}, {"channels", 3}}));
  EXPECT_EQ(models["bytes"]["context"], 60);
  EXPECT_FALSE(models["bytes"].contains("vocabulary"));
  EXPECT_EQ(models["colors"]["unit"], "pixels");
  EXPECT_EQ(models["colors"]["image"], json({{"width", 8}, {"height", 8}, {"channels", 3}}));
  EXPECT_EQ(models["colors"]["context"], 64);
  EXPECT_EQ(models["texts"]["unit"], "bytes");
  EXPECT_TRUE(models["texts"]["image"].is_null());
  EXPECT_EQ(models["words"]["unit"], "words");
  EXPECT_EQ(models["words"]["vocabulary"].size(), 419);
}

TEST(ServeKinds, RefusesWhatAnotherKindAnswers) {
  const test::ZooServer s({{"bytes", test::kImageBytes}, {"adder", "{name: addition_cnn}"}});
  auto client = s.client();
  const auto png = test::noise_png(1);
  for (const std::string route : {"classify", "explain", "attention", "lens", "ablate"}) {
    test::expect_error(client.Post("/v1/" + route + "?model=bytes", png, test::kPng), 400,
                       "bytes generates images; /v1/" + route + " takes a classifier");
    test::expect_error(client.Post("/v1/" + route, png, test::kPng), 404,
                       "/v1/" + route + " takes a classifier, and none is loaded");
  }
  test::expect_error(client.Post("/v2/models/adder/infer", "{}", "application/json"), 400,
                     "adder adds two numbers; /v2/models/adder/infer takes a classifier");
  const auto metadata = test::json_of(client.Get("/v2/models/bytes"));
  EXPECT_TRUE(metadata["inputs"].is_array() && metadata["inputs"].empty());
  EXPECT_TRUE(metadata["outputs"].is_array() && metadata["outputs"].empty());
  EXPECT_EQ(test::json_of(client.Post("/v2/repository/index")).size(), 2);
  EXPECT_EQ(client.Post("/v2/repository/models/bytes/load")->status, 200);
}

TEST(ServeKinds, NamesATaskThatNoRouteServes) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "wave.safetensors").string();
  test::save_shaken(path, "{name: wave_rnn}");
  Metrics metrics;
  ModelStore store(Precision::Float32, {}, metrics);
  EXPECT_THROW(
      {
        try {
          store.add(path);
        } catch (const Error& e) {
          EXPECT_NE(std::string(e.what()).find("(wave_rnn) predicts the next value"),
                    std::string::npos)
              << e.what();
          throw;
        }
      },
      Error);
}

}  // namespace vitrine::serve
