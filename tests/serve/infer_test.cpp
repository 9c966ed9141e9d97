#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>

#include "tests/support/errors.h"
#include "tests/support/small_server.h"
#include "vitrine/data/image_batches.h"

namespace vitrine::serve {
namespace {

constexpr const char *kJson = "application/json", *kInfer = "/v2/models/small/infer";

/// Two inputs and what the network answers.
struct Example {
  explicit Example(const fs::path& path) {
    const torch::NoGradGuard no_grad;
    const auto x = torch::randn({2, 3, 16, 16});
    const auto y = load_checkpoint(path).model->forward(x);
    inputs.assign(x.data_ptr<float>(), x.data_ptr<float>() + x.numel());
    logits.assign(y.data_ptr<float>(), y.data_ptr<float>() + y.numel());
  }
  nlohmann::json request() const {
    return {
        {"id", "7"},
        {"inputs",
         {{{"name", "image"}, {"datatype", "FP32"}, {"shape", {2, 3, 16, 16}}, {"data", inputs}}}}};
  }
  std::vector<float> inputs, logits;
};

void expect_near(const std::vector<float>& given, const std::vector<float>& expected) {
  ASSERT_EQ(given.size(), expected.size());
  for (size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(given[i], expected[i], 1e-5);
}

}  // namespace

TEST(InferenceProtocol, GivesTheNetworksLogits) {
  const test::SmallServer s;
  const Example example(s.path);
  const auto json = test::json_of(s.client().Post(kInfer, example.request().dump(), kJson));
  EXPECT_EQ(json["model_name"], "small");
  EXPECT_EQ(json["id"], "7");
  const auto& output = json["outputs"][0];
  EXPECT_EQ(output["name"], "logits");
  EXPECT_EQ(output["datatype"], "FP32");
  EXPECT_EQ(output["shape"], (std::vector<int64_t>{2, 4}));
  expect_near(output["data"], example.logits);
}

TEST(InferenceProtocol, AnswersInThePrecisionOfTheServer) {
  const test::SmallServer s({.precision = Precision::Int8});
  const Example example(s.path);
  const auto json = test::json_of(s.client().Post(kInfer, example.request().dump(), kJson));
  const std::vector<float> logits = json["outputs"][0]["data"];
  ASSERT_EQ(logits.size(), example.logits.size());
  EXPECT_NE(logits, example.logits);
  for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], example.logits[i], 0.1);
  const auto explained =
      s.client().Post("/v1/explain?method=relevance", test::noise_png(1), test::kPng);
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->status, 200) << explained->body;
}

TEST(InferenceProtocol, IsNotServedByModelsThatCannotHaveThePrecision) {
  const auto start = [] {
    test::SmallServer({.precision = Precision::Int8}, "resnet18", {"model.blocks=[1, 1]"});
  };
  EXPECT_TRUE(
      test::contains(test::error_of(start), "int8: small (resnet18) has no transformer blocks"));
}

TEST(InferenceProtocol, TakesNestedDataAndTheVersionInThePath) {
  const test::SmallServer s;
  const Example example(s.path);
  auto request = example.request();
  const auto half = std::ssize(example.inputs) / 2;
  const std::vector<float> first(example.inputs.begin(), example.inputs.begin() + half),
      second(example.inputs.begin() + half, example.inputs.end());
  request["inputs"][0]["data"] = {first, second};
  const auto json =
      test::json_of(s.client().Post("/v2/models/small/versions/1/infer", request.dump(), kJson));
  expect_near(json["outputs"][0]["data"], example.logits);
}

TEST(InferenceProtocol, TakesAndGivesBinaryTensors) {
  const test::SmallServer s;
  const Example example(s.path);
  const auto bytes = example.inputs.size() * sizeof(float);
  auto request = example.request();
  request["inputs"][0].erase("data");
  request["inputs"][0]["parameters"]["binary_data_size"] = bytes;
  request["outputs"] = {{{"name", "logits"}, {"parameters", {{"binary_data", true}}}}};
  auto body = request.dump();
  const httplib::Headers headers = {
      {"Inference-Header-Content-Length", std::to_string(body.size())}};
  body.append(reinterpret_cast<const char*>(example.inputs.data()), bytes);
  const auto answer = s.client().Post(kInfer, headers, body, "application/octet-stream");
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 200) << answer->body;
  const auto length = std::stoul(answer->get_header_value("Inference-Header-Content-Length"));
  const auto json = nlohmann::json::parse(answer->body.substr(0, length));
  EXPECT_EQ(json["outputs"][0]["parameters"]["binary_data_size"], 2 * 4 * sizeof(float));
  std::vector<float> logits(8);
  ASSERT_EQ(answer->body.size(), length + 8 * sizeof(float));
  std::memcpy(logits.data(), answer->body.data() + length, 8 * sizeof(float));
  expect_near(logits, example.logits);
}

TEST(InferenceProtocol, NamesWhatIsWrongWithARequest) {
  const test::SmallServer s;
  const Example example(s.path);
  auto client = s.client();
  const auto expect = [&](const std::function<void(nlohmann::json&)>& change,
                          const std::string& words) {
    auto request = example.request();
    change(request);
    test::expect_error(client.Post(kInfer, request.dump(), kJson), 400, words);
  };
  expect(
      [](auto& r) {
        r["inputs"][0]["shape"] = {2, 3, 16, 17};
      },
      "[2,3,16,17] is not [B, 3, 16, 16]");
  expect([](auto& r) { r["inputs"][0]["shape"] = {3, 3, 16, 16}; }, "1536 numbers");
  expect([](auto& r) { r["inputs"][0]["shape"] = "big"; }, "is not [B, 3, 16, 16]");
  expect([](auto& r) { r["inputs"][0]["datatype"] = "INT8"; }, "'INT8' is not FP32");
  expect([](auto& r) { r["inputs"][0]["name"] = "x"; }, "input 'x' is not known");
  expect([](auto& r) { r["inputs"][0]["data"][0] = "one"; }, "expected numbers");
  expect([](auto& r) { r["inputs"][0]["data"][0] = 1e300; }, "not all numbers are finite");
  expect([](auto& r) { r["inputs"][0].erase("data"); }, "has no data");
  expect([](auto& r) { r["outputs"] = {{{"name", "y"}}}; }, "output 'y' is not known");
  expect([](auto& r) { r["inputs"][0]["parameters"]["binary_data_size"] = 12; },
         "binary_data_size 12");
  expect([](auto& r) { r.erase("inputs"); }, "inputs");
  expect([](auto& r) { r = {1, 2}; }, "");
  test::expect_error(client.Post(kInfer, "{", kJson), 400, "not an inference request");
  test::expect_error(client.Post(kInfer, std::string(100000, '['), kJson), 400, "nested deeper");
  const auto deep = std::string(100000, '[') + std::string(100000, ']');
  test::expect_error(
      client.Post(kInfer,
                  R"({"inputs": [{"name": "image", "datatype": "FP32", "shape": )" + deep + "}]}",
                  kJson),
      400, "nested deeper");
  test::expect_error(
      client.Post(kInfer, {{"Inference-Header-Content-Length", "99999999"}}, "{}", kJson), 400,
      "Inference-Header-Content-Length");
  test::expect_error(client.Post("/v2/models/other/infer", "{}", kJson), 404, "'other'");
  test::expect_error(client.Post("/v2/models/small/versions/2/infer", "{}", kJson), 404,
                     "version '2'");
}

TEST(InferenceProtocol, TellsOfServerAndModels) {
  const test::SmallServer s;
  auto client = s.client();
  EXPECT_EQ(test::json_of(client.Get("/v2"))["name"], "vitrine");
  EXPECT_EQ(client.Get("/v2/health/live")->status, 200);
  EXPECT_EQ(client.Get("/v2/health/ready")->status, 200);
  EXPECT_EQ(client.Get("/v2/models/small/ready")->status, 200);
  EXPECT_EQ(client.Get("/v2/models/small/versions/1/ready")->status, 200);
  test::expect_error(client.Get("/v2/models/other"), 404, "'other'");
  for (const auto* path : {"/v2/models/small", "/v2/models/small/versions/1"}) {
    const auto json = test::json_of(client.Get(path));
    EXPECT_EQ(json["inputs"][0]["shape"], (std::vector<int64_t>{-1, 3, 16, 16}));
    EXPECT_EQ(json["outputs"][0]["shape"], (std::vector<int64_t>{-1, 4}));
  }
}

TEST(InferenceProtocol, UnloadsAndLoadsWhatItWasGiven) {
  const test::SmallServer s;
  const Example example(s.path);
  auto client = s.client();
  const auto state = [&] { return test::json_of(client.Post("/v2/repository/index"))[0]["state"]; };
  EXPECT_EQ(state(), "READY");
  EXPECT_EQ(client.Post("/v2/repository/models/small/unload")->status, 200);
  EXPECT_EQ(state(), "UNAVAILABLE");
  test::expect_error(client.Post(kInfer, example.request().dump(), kJson), 404, "unloaded");
  test::expect_error(client.Get("/v2/models/small/ready"), 404, "unloaded");
  EXPECT_EQ(client.Post("/v2/repository/models/small/load")->status, 200);
  EXPECT_EQ(state(), "READY");
  EXPECT_EQ(client.Post(kInfer, example.request().dump(), kJson)->status, 200);
  test::expect_error(client.Post("/v2/repository/models/other/load"), 404, "'other'");
}

TEST(InferenceProtocol, LosesNoRequestWhileAModelIsLoadedAnew) {
  const test::SmallServer s;
  std::atomic<bool> done = false;
  std::vector<std::future<int>> clients;
  for (int i = 0; i < 3; ++i)
    clients.push_back(std::async(std::launch::async, [&] {
      auto client = s.client();
      client.set_keep_alive(true);
      int lost = 0;
      while (!done) {
        const auto answer = client.Post("/v1/classify", test::noise_png(1), test::kPng);
        lost += !answer || answer->status != 200;
      }
      return lost;
    }));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(s.client().Post("/v2/repository/models/small/load")->status, 200);
  done = true;
  for (auto& lost : clients) EXPECT_EQ(lost.get(), 0);
}

TEST(InferenceProtocol, GoesOnWithTheOldModelIfTheNewOneIsDamaged) {
  const test::SmallServer s;
  const Example example(s.path);
  auto client = s.client();
  write_file_atomically(s.path, "damaged");
  test::expect_error(client.Post("/v2/repository/models/small/load"), 400, "small.safetensors");
  EXPECT_EQ(client.Post(kInfer, example.request().dump(), kJson)->status, 200);
}

}  // namespace vitrine::serve
