#include "vitrine/train/predictions.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tests/support/small_server.h"

namespace vitrine::serve {
namespace {

// Eight test images; that with index i is of class i % 4.
constexpr const char* kRecipe =
    "model: {name: vit_c10_small}\nseed: 3\n"
    "data: {dataset: {name: synthetic, train: 16, test: 8, image: 16, classes: 4}, batch: 4}\n";

TestPredictions eight_predictions() {
  TestPredictions predictions{{"a", "b", "c", "d"}};
  // 0 and 4 are taken for class 1, the others for what they are.
  for (int64_t i = 0; i < 8; ++i)
    predictions.examples.push_back({.index = i,
                                    .truth = i % 4,
                                    .predicted = i % 4 == 0 ? 1 : i % 4,
                                    .probability = 0.5 + 0.05 * static_cast<double>(i),
                                    .truth_probability = 0.25});
  return predictions;
}

/// A server beside a tested run, and one that was never tested.
struct Tested {
  Tested() {
    for (const auto* name : {"tested", "untested"}) {
      fs::create_directories(folder / "runs" / name);
      write_file_atomically(folder / "runs" / name / "recipe.yaml", kRecipe);
    }
    write_predictions(file, eight_predictions());
  }
  httplib::Result get(const std::string& what) const {
    return server.client().Get("/v1/runs/" + what);
  }
  test::TemporaryFolder folder;
  fs::path file = folder / "runs/tested/predictions.json";
  test::SmallServer server{{.runs = folder / "runs"}};
};

}  // namespace

TEST(ServePredictions, GiveTheConfusionMatrix) {
  const Tested t;
  const auto confusion = test::json_of(t.get("tested/confusion"));
  EXPECT_EQ(confusion["classes"], nlohmann::json({"a", "b", "c", "d"}));
  EXPECT_EQ(confusion["examples"], 8);
  const auto cells = nlohmann::json::array({{0, 1, 2}, {1, 1, 2}, {2, 2, 2}, {3, 3, 2}});
  EXPECT_EQ(confusion["cells"], cells);
  test::expect_error(t.get("untested/confusion"), 404, "has no predictions.json");
  test::expect_error(t.get("unknown/confusion"), 404, "is not known");
}

TEST(ServePredictions, GiveTheExamplesOfACellTheMostConfidentFirst) {
  const Tested t;
  const auto cell = test::json_of(t.get("tested/predictions?true=0&predicted=1"));
  EXPECT_EQ(cell["total"], 2);
  ASSERT_EQ(cell["examples"].size(), 2);
  EXPECT_EQ(cell["examples"][0]["index"], 4);
  EXPECT_EQ(cell["examples"][0]["probability"], 0.7);
  EXPECT_EQ(cell["examples"][0]["true_probability"], 0.25);
  EXPECT_EQ(cell["examples"][1]["index"], 0);
  const auto rest = test::json_of(t.get("tested/predictions?true=0&offset=1&limit=5"));
  EXPECT_EQ(rest["total"], 2);
  ASSERT_EQ(rest["examples"].size(), 1);
  EXPECT_EQ(rest["examples"][0]["index"], 0);
  EXPECT_EQ(test::json_of(t.get("tested/predictions?limit=3"))["examples"].size(), 3);
  EXPECT_EQ(test::json_of(t.get("tested/predictions?true=0&predicted=0"))["total"], 0);
  test::expect_error(t.get("tested/predictions?true=4"), 400, "from 0 to 3");
  test::expect_error(t.get("tested/predictions?predicted=dog"), 400, "predicted=dog");
}

TEST(ServePredictions, GiveTheImagesOfTheDataSet) {
  const Tested t;
  std::set<std::string> images;
  for (int64_t i = 0; i < 8; ++i) {
    const auto answer = t.get(fmt::format("tested/images/{}", i));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(answer->get_header_value("Content-Type"), "image/png");
    EXPECT_EQ(decode_image(answer->body, "image").width, 16);
    images.insert(answer->body);
  }
  EXPECT_EQ(images.size(), 8);
  test::expect_error(t.get("tested/images/8"), 400, "from 0 to 7");
  test::expect_error(t.get("tested/images/-1"), 400, "index=-1");
  test::expect_error(t.get("untested/images/0"), 404, "has no predictions.json");
}

TEST(ServePredictions, SayWhatIsMissingWhereTheDataSetIs) {
  const Tested t;
  write_file_atomically(
      t.folder / "runs/tested/recipe.yaml",
      fmt::format("model: {{name: vit_c10_small}}\ndata: {{dataset: cifar10, root: {}}}\n",
                  (t.folder / "nowhere").string()));
  test::expect_error(t.get("tested/images/0"), 409, "vitrine data fetch cifar10");
  // What does not need the images is there all the same.
  EXPECT_EQ(t.get("tested/confusion")->status, 200);
}

TEST(ServePredictions, AreNotShownWithImagesOfOtherData) {
  const Tested t;
  EXPECT_EQ(t.get("tested/images/0")->status, 200);
  auto others = eight_predictions();
  others.examples[6].truth = 3;
  write_predictions(t.file, others);
  fs::last_write_time(t.file, fs::last_write_time(t.file) + std::chrono::seconds(2));
  test::expect_error(t.get("tested/images/0"), 409, "has changed since the run was tested");
  write_predictions(t.file, eight_predictions());
  EXPECT_EQ(t.get("tested/images/0")->status, 200);
}

TEST(ServePredictions, ThatAreDamagedAreSaidToBe) {
  const Tested t;
  write_file_atomically(t.file, "{\"classes\": ");
  const auto answer = t.get("tested/confusion");
  test::expect_error(answer, 500, "predictions.json does not hold the predictions");
}

}  // namespace vitrine::serve
