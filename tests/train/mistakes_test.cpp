#include "vitrine/train/mistakes.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"

namespace vitrine {
namespace {

std::shared_ptr<const Dataset> four_images() {
  auto data =
      std::make_shared<MemoryDataset>(2, 3, std::vector<std::string>{"cat", "dog", "ankle boot"});
  const std::vector<uint8_t> pixels(12, 128);
  for (const int64_t label : {0, 1, 2, 1}) data->add(pixels.data(), label);
  return data;
}

}  // namespace

TEST(Mistakes, AreTheWrongExamplesWithTheHighestLoss) {
  const auto data = four_images();
  MistakesReport report(data, 2, "mistakes_test", "Mistakes");
  const auto shares = torch::tensor(
      {{0.2, 0.7, 0.1}, {0.1, 0.8, 0.1}, {0.9, 0.09, 0.01}, {0.6, 0.3, 0.1}}, torch::kFloat);
  const auto targets = torch::tensor({0, 1, 2, 1});
  const auto logits = shares.log();
  const std::vector<int64_t> order = {0, 1, 2, 3};
  const std::span indices(order);
  report.add(logits.narrow(0, 0, 2), targets.narrow(0, 0, 2), indices.first(2));  // two batches
  report.add(logits.narrow(0, 2, 2), targets.narrow(0, 2, 2), indices.last(2));
  ASSERT_EQ(report.worst().size(), 2u);
  EXPECT_EQ(report.worst()[0].index, 2);
  EXPECT_EQ(report.worst()[0].predicted, 0);
  EXPECT_NEAR(report.worst()[0].probability, 0.9, 1e-6);
  EXPECT_NEAR(report.worst()[0].loss, -std::log(0.01), 1e-5);
  EXPECT_EQ(report.worst()[1].index, 0);
  const auto json = report.json()["mistakes"];
  EXPECT_EQ(json[0]["label"], "ankle boot");
  EXPECT_EQ(json[0]["predicted"], "cat");
  EXPECT_FALSE(json[0].contains("file"));
  EXPECT_TRUE(test::contains(report.text(), "90.00"));
  test::TemporaryFolder folder;
  report.save(folder.path());
  EXPECT_GT(read_image(report.sheet(folder.path())).width, 200);
}

TEST(Mistakes, WithoutAnyThereIsNoSheet) {
  MistakesReport report(four_images(), 2, "mistakes_test", "Mistakes");
  report.add(torch::tensor({{3.0f, 0.0f, 0.0f}}), torch::tensor({0}), std::vector<int64_t>{0});
  EXPECT_EQ(report.text(), "no mistakes\n");
  test::TemporaryFolder folder;
  report.save(folder.path());
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(EvalCommand, LeavesASheetOfMistakesBesideTheCheckpoint) {
  test::TemporaryFolder folder;
  const auto model = (folder / "m.safetensors").string();
  test::save_small_checkpoint(model, "cct_2_3x2");
  const auto result = test::run_command({"eval", model, "--mistakes", "3", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["mistakes"].size(), 3u);
  EXPECT_GE(json["mistakes"][0]["loss"], json["mistakes"][1]["loss"]);
  EXPECT_NE(json["mistakes"][0]["label"], json["mistakes"][0]["predicted"]);
  EXPECT_TRUE(json.contains("report"));
  EXPECT_TRUE(test::contains(result.err, "mistakes_test.png"));
  EXPECT_TRUE(fs::exists(folder / "mistakes_test.png"));
  EXPECT_NE(test::run_command({"eval", model, "--mistakes", "-1"}).code, 0);
}

}  // namespace vitrine
