#include <gtest/gtest.h>

#include <future>

#include "tests/support/busy_model.h"
#include "tests/support/small_server.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/serve/page_files.h"

namespace vitrine::serve {
namespace {

void expect_same(const nlohmann::json& predictions, const std::vector<Prediction>& expected) {
  ASSERT_EQ(predictions.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(predictions[i]["label"], expected[i].label);
    EXPECT_EQ(predictions[i]["index"], expected[i].index);
    EXPECT_NEAR(predictions[i]["probability"], expected[i].probability, 1e-5);
  }
}

}  // namespace

TEST(Serve, ClassifiesAsTheClassifierDoes) {
  const test::SmallServer s;
  const auto classifier = Classifier::load(s.path);
  auto client = s.client();
  for (uint64_t seed = 1; seed < 4; ++seed) {
    const auto png = test::noise_png(seed, 16 + 7 * seed, 20);
    const auto answer = client.Post("/v1/classify?model=small&top=3", png, test::kPng);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200) << answer->body;
    const auto json = test::json_of(answer);
    EXPECT_EQ(json["model"], "small");
    EXPECT_GT(json["milliseconds"], 0);
    expect_same(json["predictions"], classifier.classify(decode_image(png, "png"), 3));
  }
}

TEST(Serve, TakesAFormAsWellAsABody) {
  const test::SmallServer s;
  auto client = s.client();
  const auto png = test::noise_png(1);
  const auto body = test::json_of(client.Post("/v1/classify", png, test::kPng));
  const httplib::MultipartFormDataItems form = {{"image", png, "cat.png", test::kPng}};
  const auto fields = test::json_of(client.Post("/v1/classify", form));
  EXPECT_EQ(body["predictions"].size(), 4);  // top is 5, but there are four classes
  EXPECT_EQ(body["predictions"], fields["predictions"]);
}

TEST(Serve, DescribesItsModels) {
  const test::SmallServer s;
  const auto json = test::json_of(s.client().Get("/v1/models"));
  ASSERT_EQ(json["models"].size(), 1);
  const auto& model = json["models"][0];
  EXPECT_EQ(model["name"], "small");
  EXPECT_EQ(model["kind"], "classifier");
  EXPECT_EQ(model["task"], "classify");
  EXPECT_EQ(model["image"], 16);
  EXPECT_EQ(model["resize"], 16);
  EXPECT_EQ(model["stretch"], false);
  EXPECT_EQ(model["classes"], 4);
  EXPECT_EQ(model["class_names"].size(), 4);
  EXPECT_GT(model["parameters"], 1000);
  EXPECT_EQ(model["explain"], (std::vector<std::string>{"rollout", "relevance", "grad-cam"}));
}

TEST(Serve, SaysWhichPartOfAnImageTheNetworkSees) {
  auto settings = test::kSmallVit;
  settings.push_back("data.preprocess={image: 16, resize: 20}");
  const test::SmallServer s({}, "vit_c10_small", settings);
  const auto model = test::json_of(s.client().Get("/v1/models"))["models"][0];
  EXPECT_EQ(model["image"], 16);
  EXPECT_EQ(model["resize"], 20);
}

TEST(Serve, NamesWhatIsWrong) {
  const test::SmallServer s;
  auto client = s.client();
  const auto png = test::noise_png(1);
  test::expect_error(client.Post("/v1/classify", "not an image", test::kPng), 400,
                     "not a JPEG, PNG");
  test::expect_error(client.Post("/v1/classify", png.substr(0, 60), test::kPng), 400,
                     "not a readable PNG");
  test::expect_error(client.Post("/v1/classify"), 400, "no image");
  test::expect_error(client.Post("/v1/classify?model=smal", png, test::kPng), 404,
                     "did you mean 'small'");
  test::expect_error(client.Post("/v1/classify?top=0", png, test::kPng), 400, "top=0");
  test::expect_error(client.Post("/v1/classify?top=many", png, test::kPng), 400, "top=many");
  test::expect_error(client.Get("/v1/classify"), 405, "use POST");
  test::expect_error(client.Get("/v1/nothing"), 404, "/v1/nothing");
  test::expect_error(client.Put("/v1/classify", png, test::kPng), 405, "use POST");
}

TEST(Serve, JoinsRequestsToBatches) {
  const test::SmallServer s({.batch = {.max_batch = 4}});
  std::vector<std::future<nlohmann::json>> answers;
  {
    const test::BusyModel busy(*s.server);
    for (uint64_t seed = 0; seed < 8; ++seed)
      answers.push_back(std::async(std::launch::async, [&, seed] {
        return test::json_of(s.client().Post("/v1/classify", test::noise_png(seed), test::kPng));
      }));
    while (busy.waiting() < 8) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto classifier = Classifier::load(s.path);
  for (uint64_t seed = 0; seed < 8; ++seed)
    expect_same(answers[seed].get()["predictions"],
                classifier.classify(decode_image(test::noise_png(seed), "png"), 5));
  const auto metrics = s.client().Get("/metrics");
  ASSERT_TRUE(metrics);
  const auto has = [&](const std::string& line) {
    EXPECT_NE(metrics->body.find(line + "\n"), std::string::npos) << line << metrics->body;
  };
  has("vitrine_batch_size_count{model=\"small\"} 2");
  has("vitrine_batch_size_sum{model=\"small\"} 8");
  has("vitrine_batch_size_bucket{model=\"small\",le=\"2\"} 0");
  has("vitrine_requests_total{route=\"/v1/classify\",status=\"200\"} 8");
  has("vitrine_queue_length{model=\"small\"} 0");
  EXPECT_NE(metrics->body.find("\nprocess_resident_memory_bytes "), std::string::npos);
}

TEST(Serve, LogsALineOfJsonPerRequest) {
  test::SmallServer s;
  s.client().Get("/v2/health/live");
  s.client().Get("/v1/\"quoted\"");
  s.server->stop();
  std::istringstream lines(s.log.str());
  std::vector<nlohmann::json> entries;
  for (std::string line; std::getline(lines, line);) entries.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[0]["path"], "/v2/health/live");
  EXPECT_EQ(entries[0]["status"], 200);
  EXPECT_EQ(entries[0]["remote"], "127.0.0.1");
  EXPECT_EQ(entries[1]["path"], "/v1/\"quoted\"");
  EXPECT_EQ(entries[1]["status"], 404);
}

TEST(Serve, ServesThePagesFilesAndNothingElse) {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "page/assets");
  write_file_atomically(folder / "page/index.html", "<p>page</p>");
  write_file_atomically(folder / "page/assets/a-1.js", "1");
  write_file_atomically(folder / "secret.txt", "secret");
  fs::create_symlink(folder / "secret.txt", folder / "page/link.txt");
  const test::SmallServer s({.page = folder / "page"});
  auto client = s.client();
  EXPECT_EQ(client.Get("/")->body, "<p>page</p>");
  EXPECT_EQ(client.Get("/assets/a-1.js")->get_header_value("Content-Type"), "text/javascript");
  for (const auto* path : {"/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt",
                           "/link.txt", "/assets", "//etc/passwd", "/.hidden", "/a%00b"})
    test::expect_error(client.Get(path), 404, "there is nothing");
}

TEST(Serve, ServesNothingOfTheWorkingDirectoryIfThePageHasGone) {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "page");
  write_file_atomically(folder / "secret.txt", "secret");
  const test::SmallServer s({.page = folder / "page"});
  fs::remove(folder / "page");
  const auto before = fs::current_path();
  fs::current_path(folder.path());
  test::expect_error(s.client().Get("/secret.txt"), 404, "there is nothing");
  fs::current_path(before);
}

TEST(Serve, ShowsThePageThatIsBuiltInOrItsRoutesWhereThereIsNone) {
  const test::SmallServer s;
  const auto page = s.client().Get("/");
  ASSERT_TRUE(page);
  ASSERT_EQ(page->status, 200);
  if (page_files().empty())  // built where npm had no network
    for (const auto& route : s.server->app().routes())
      EXPECT_NE(page->body.find(route.pattern), std::string::npos) << route.pattern;
  else
    EXPECT_EQ(page->body, page_files().at("/index.html"));
  for (const auto& [path, bytes] : page_files()) {
    const auto file = s.client().Get(path);
    ASSERT_TRUE(file && file->status == 200) << path;
    EXPECT_EQ(file->body, bytes) << path;
  }
  EXPECT_EQ(s.client().Get("/assets/none.js")->status, 404);
}

}  // namespace vitrine::serve
