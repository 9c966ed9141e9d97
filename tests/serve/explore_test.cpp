#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/small_server.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/inspect/explain.h"
#include "vitrine/nn/attention_capture.h"

namespace vitrine::serve {
namespace {

/// What an answer of /v1/attention holds.
struct Unpacked {
  explicit Unpacked(const std::string& bytes) {
    uint32_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    header = nlohmann::json::parse(bytes.substr(4, length));
    data = bytes.substr(4 + length);
  }
  nlohmann::json header;
  std::string data;
};

httplib::Result ablate(const test::SmallServer& s, const std::string& off) {
  return s.client().Post(
      "/v1/ablate", httplib::MultipartFormDataItems{{"image", test::noise_png(1), "", test::kPng},
                                                    {"switch", off, "", ""}});
}

double first_probability(const httplib::Result& answer, int64_t index) {
  const auto json = test::json_of(answer);
  for (const auto& p : json["predictions"])
    if (p["index"] == index) return p["probability"];
  return -1;
}

}  // namespace

TEST(ServeExplain, GivesTheMapsOfExplain) {
  const test::SmallServer s;
  const auto png = test::noise_png(1);
  const auto image = decode_image(png, "png");
  const auto expected = explain(load_checkpoint(s.path), image, {.target = "2"});
  for (const auto& [name, method] :
       std::map<std::string, ExplainMethod>{{"rollout", ExplainMethod::Rollout},
                                            {"relevance", ExplainMethod::Relevance},
                                            {"grad-cam", ExplainMethod::GradCam}}) {
    const auto json =
        test::json_of(s.client().Post("/v1/explain?class=2&method=" + name, png, test::kPng));
    EXPECT_EQ(json["method"], name);
    EXPECT_EQ(json["class"]["index"], 2);
    EXPECT_EQ(json["grid"], (std::vector<int64_t>{4, 4}));
    EXPECT_EQ(json["predictions"].size(), 4);
    const auto& multiples = expected.map(method)->multiples.values;
    ASSERT_EQ(json["values"].size(), multiples.size()) << json;
    for (size_t i = 0; i < multiples.size(); ++i) {
      const double value = json["values"][i];
      EXPECT_GE(value, 0);
      EXPECT_LE(value, 1);
      EXPECT_NEAR(value * json["greatest"].get<double>(), multiples[i], 1e-4);
    }
  }
}

TEST(ServeExplain, GivesTheImageIfAskedFor) {
  const test::SmallServer s;
  const auto answer = s.client().Post("/v1/explain", {{"Accept", "image/png"}},
                                      test::noise_png(1, 40, 30), test::kPng);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "image/png");
  const auto image = decode_image(answer->body, "answer");
  EXPECT_EQ(image.width, image.height);
}

TEST(ServeExplain, NamesWhatIsWrong) {
  const test::SmallServer s;
  const auto png = test::noise_png(1);
  test::expect_error(s.client().Post("/v1/explain?method=magic", png, test::kPng), 400, "'magic'");
  test::expect_error(s.client().Post("/v1/explain?class=bird-9", png, test::kPng), 400,
                     "no class 'bird-9'");
  test::expect_error(s.client().Post("/v1/explain?class=4", png, test::kPng), 400,
                     "index from 0 to 3");
  test::expect_error(s.client().Post("/v1/explain", "x", test::kPng), 400, "not a JPEG");
}

TEST(ServeHead, GivesWhatTheWeightsOfAQueryComeFrom) {
  const test::SmallServer s;
  const auto png = test::noise_png(1);
  const auto answer =
      test::json_of(s.client().Post("/v1/head?layer=1&head=1&query=3", png, test::kPng));
  const auto tensor = [&](const char* name) {
    const auto rows = answer[name].get<std::vector<std::vector<float>>>();
    auto matrix = torch::empty({std::ssize(rows), std::ssize(rows[0])});
    for (int64_t i = 0; i < matrix.size(0); ++i) matrix[i].copy_(torch::tensor(rows[i]));
    return matrix;
  };
  const auto q = torch::tensor(answer["q"].get<std::vector<float>>());
  const auto scores = torch::tensor(answer["scores"].get<std::vector<float>>());
  const auto weights = torch::tensor(answer["weights"].get<std::vector<float>>());
  EXPECT_NEAR(answer["scale"], 0.25, 1e-9);  // heads of width 16
  EXPECT_TRUE(torch::allclose(tensor("k").mv(q) * 0.25, scores, 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(scores.softmax(0), weights, 1e-4, 1e-5));
  EXPECT_EQ(tensor("v").sizes(), tensor("k").sizes());

  const auto checkpoint = load_checkpoint(s.path);
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  checkpoint.model->forward(
      preprocess(decode_image(png, "png"), *checkpoint.info.preprocess).unsqueeze(0));
  EXPECT_TRUE(torch::allclose(weights, capture.layers[1].weights[0][1][3], 1e-4, 1e-5));
}

TEST(ServeHead, NamesWhatThereIsNot) {
  const test::SmallServer s;
  const auto png = test::noise_png(1);
  test::expect_error(s.client().Post("/v1/head?layer=2", png, test::kPng), 400, "no layer 2");
  test::expect_error(s.client().Post("/v1/head?head=2", png, test::kPng), 400, "no head 2");
  test::expect_error(s.client().Post("/v1/head?query=99", png, test::kPng), 400, "query 99");
  test::expect_error(s.client().Post("/v1/head?query=-1", png, test::kPng), 400, "query=-1");
  auto performer = test::kSmallVit;
  performer.push_back("model.attention.kind=performer");
  const test::SmallServer other({}, "vit_c10_small", performer);
  test::expect_error(other.client().Post("/v1/head", png, test::kPng), 404, "no attention whose");
}

TEST(ServeAttention, GivesTheWeightsOfEveryHead) {
  const test::SmallServer s;
  const auto png = test::noise_png(1);
  const auto answer = s.client().Post("/v1/attention", png, test::kPng);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 200) << answer->body;
  const Unpacked got(answer->body);
  const auto checkpoint = load_checkpoint(s.path);
  const torch::NoGradGuard no_grad;
  AttentionCapture capture;
  checkpoint.model->forward(
      preprocess(decode_image(png, "png"), *checkpoint.info.preprocess).unsqueeze(0));
  ASSERT_EQ(got.header["layers"].size(), capture.layers.size());
  EXPECT_EQ(got.header["predictions"].size(), 4);
  for (size_t l = 0; l < capture.layers.size(); ++l) {
    const auto& layer = got.header["layers"][l];
    const auto weights = capture.layers[l].weights[0].contiguous();  // (H, Tq, Tk)
    EXPECT_EQ(layer["heads"], weights.size(0));
    const auto& q = layer["queries"];
    EXPECT_EQ(q["rows"], 4);
    EXPECT_EQ(q["prefix"].get<int64_t>() + 16, weights.size(1));
    const int64_t offset = layer["offset"], per_head = weights.size(1) * weights.size(2);
    for (int64_t i = 0; i < weights.numel(); ++i) {
      const double scale = layer["scale"][i / per_head];
      const auto byte = static_cast<uint8_t>(got.data.at(offset + i));
      ASSERT_NEAR(byte * scale, weights.flatten()[i].item<double>(), scale * 0.51);
    }
  }
}

TEST(ServeAttention, SaysWhyThereIsNone) {
  const test::SmallServer s({}, "cct_2_3x2", {"model.dim=32", "model.heads=2"});
  const auto answer = s.client().Post("/v1/attention", test::noise_png(1), test::kPng);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  const test::SmallServer convolutions({}, "resnet18", {"model.blocks=[1, 1]"});
  test::expect_error(convolutions.client().Post("/v1/attention", test::noise_png(1), test::kPng),
                     404, "small has no attention weights");
}

TEST(ServeLens, EndsWithTheAnswer) {
  const test::SmallServer s;
  const auto png = test::noise_png(1);
  const auto lens = test::json_of(s.client().Post("/v1/lens", png, test::kPng))["layers"];
  ASSERT_EQ(lens.size(), 3);  // the embedding and two blocks
  EXPECT_EQ(lens[0]["name"], "embedding");
  const auto answer =
      test::json_of(s.client().Post("/v1/classify", png, test::kPng))["predictions"];
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(lens[2]["predictions"][i]["index"], answer[i]["index"]);
    EXPECT_NEAR(lens[2]["predictions"][i]["probability"], answer[i]["probability"], 1e-5);
  }
}

TEST(ServeAblate, ChangesNothingIfNothingIsOff) {
  const test::SmallServer s;
  const auto plain = test::json_of(s.client().Post("/v1/classify", test::noise_png(1), test::kPng));
  EXPECT_EQ(test::json_of(ablate(s, "{}"))["predictions"], plain["predictions"]);
  EXPECT_EQ(test::json_of(ablate(s, ""))["predictions"], plain["predictions"]);
}

TEST(ServeAblate, SwitchesHeadsLayersAndPatchesOff) {
  const test::SmallServer s;
  const auto plain = first_probability(ablate(s, "{}"), 0);
  const auto head = first_probability(ablate(s, R"({"heads": [[0, 1]]})"), 0);
  const auto other = first_probability(ablate(s, R"({"heads": [[0, 0]]})"), 0);
  const auto both = first_probability(ablate(s, R"({"heads": [[0, 0], [0, 1]]})"), 0);
  const auto layer = first_probability(ablate(s, R"({"layers": [0]})"), 0);
  const auto patch = first_probability(ablate(s, R"({"patches": [5]})"), 0);
  const auto cell = first_probability(ablate(s, R"({"patches": [5], "grid": [4, 4]})"), 0);
  for (const double p : {head, other, layer, patch}) {
    EXPECT_GE(p, 0);
    EXPECT_GT(std::abs(p - plain), 1e-7);
  }
  EXPECT_NE(head, other);
  EXPECT_DOUBLE_EQ(both, layer);
  EXPECT_DOUBLE_EQ(patch, cell);
}

TEST(ServeAblate, WorksInWindowsAndBehindConvolutions) {
  const std::vector<std::string> swin = {"model.patch=2", "model.dim=12", "model.depths=[2, 1]",
                                         "model.heads=[2, 3]", "model.window=2"};
  const test::SmallServer windows({}, "swin_c10", swin),
      convolutions({}, "cct_2_3x2", {"model.dim=32", "model.heads=2"});
  for (const auto* s : {&windows, &convolutions}) {
    const auto plain = first_probability(ablate(*s, "{}"), 0);
    const auto head = first_probability(ablate(*s, R"({"heads": [[1, 1]]})"), 0);
    const auto both = first_probability(ablate(*s, R"({"heads": [[1, 0], [1, 1]]})"), 0);
    const auto layer = first_probability(ablate(*s, R"({"layers": [1]})"), 0);
    EXPECT_GT(std::abs(head - plain), 1e-7);
    EXPECT_DOUBLE_EQ(both, layer);
    EXPECT_GT(std::abs(layer - head), 1e-7);
  }
}

TEST(ServeAblate, NamesWhatIsWrong) {
  const test::SmallServer s;
  test::expect_error(ablate(s, R"({"heads": [[0, 2]]})"), 400, "no head 2");
  test::expect_error(ablate(s, R"({"heads": [[0, -1]]})"), 400, "no head -1");
  test::expect_error(ablate(s, R"({"layers": [2]})"), 400, "no attention layer 2");
  test::expect_error(ablate(s, R"({"patches": [16]})"), 400, "no patch 16");
  test::expect_error(ablate(s, R"({"tokens": [1]})"), 400, "'tokens'");
  test::expect_error(ablate(s, "[[["), 400, "switch");
  test::expect_error(ablate(s, R"({"heads": 3})"), 400, "switch");
}

}  // namespace vitrine::serve
