#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/peak_memory.h"
#include "vitrine/inspect/published_networks.h"
#include "vitrine/models/registry.h"

namespace vitrine {
namespace {

using nlohmann::json;
using test::contains;
using test::run_command;

std::vector<json> json_lines(const std::string& text) {
  std::vector<json> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result.push_back(json::parse(line));
  return result;
}

}  // namespace

TEST(ModelsCommand, ListsEveryModelWithoutMemoryForItsWeights) {
  const PeakMemory peak;
  const auto lines = json_lines(run_command({"models", "--all", "--json"}).out);
  EXPECT_LT(peak.bytes().value_or(0), 500'000'000);  // the weights of the largest alone: 5 GB
  ASSERT_EQ(lines.size(), models().names().size());
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i]["name"], models().names()[i]);
}

TEST(ModelsCommand, ShowsAliasesBesideTheirModel) {
  const auto result = run_command({"models", "vit_base_patch16"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "vit_b16"));
  EXPECT_TRUE(contains(result.out, "86.57"));
  EXPECT_TRUE(contains(result.out, "17.58"));
  EXPECT_TRUE(contains(result.out, "(also vit_base_patch16_224, deit_b16)"));
  EXPECT_TRUE(contains(result.out, "(= vit_b16 image=384)"));
  EXPECT_EQ(result.out.find("resnet18"), std::string::npos);
}

TEST(ModelsCommand, SaysWhenNothingMatches) {
  const auto result = run_command({"models", "zebra"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.err, "no name contains 'zebra'"));
}

TEST(ModelsCommand, TableSetsOurCountsBesidePublishedFiguresAndMarksDeviations) {
  const auto result = run_command({"models", "--table"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "ViT-L/16       vit_l16         384     304.72*     307"));
  EXPECT_TRUE(contains(result.out, "DeiT-S         deit_s16        224      22.05       22"));
  EXPECT_TRUE(
      contains(result.out, "published figures\n(CvT, table 3; Swin, table 1), not measured"));
  EXPECT_TRUE(contains(result.out, "\nTNT-B: the authors' 65.6M include"));
  const auto some = run_command({"models", "--table", "cvt"});
  EXPECT_TRUE(contains(some.out, "CvT-21 at 384"));
  EXPECT_EQ(some.out.find("ResNet"), std::string::npos);
  EXPECT_TRUE(contains(run_command({"models", "--table", "zebra"}).err, "is called 'zebra'"));
  EXPECT_EQ(run_command({"models", "--table", "--all"}).code, 2);
}

TEST(ModelsCommand, TableIsJsonForPrograms) {
  const auto lines = json_lines(run_command({"models", "--table", "--json"}).out);
  ASSERT_EQ(lines.size(), published_networks().size());
  EXPECT_EQ(lines[3]["network"], "ViT-B/16");
  EXPECT_EQ(lines[3]["parameters"], 86'859'496);
  EXPECT_EQ(lines[3]["published"]["imagenet_top1"], 77.9);
  EXPECT_EQ(lines[3]["published"]["imagenet_real_top1"], 83.6);
  EXPECT_TRUE(lines[3]["published"]["imagenet_v2_top1"].is_null());
  EXPECT_TRUE(lines[3]["parameters_differ"]);
  EXPECT_FALSE(lines[3]["multiply_adds_differ"]);
}

TEST(SummaryCommand, TakesANameWithSettings) {
  const auto result = run_command({"summary", "vit_base_patch16_224", "image=384"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "55.54"));
  EXPECT_TRUE(contains(result.out, "blocks.11"));
}

TEST(SummaryCommand, TakesARecipe) {
  const auto recipe = VITRINE_SOURCE_DIR "/recipes/cct2-cifar10.yaml";
  const auto lines = json_lines(run_command({"summary", recipe, "--json"}).out);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0]["parameters"], 283'723);
  EXPECT_TRUE(contains(run_command({"summary", recipe, "model.depth=1"}).out, "blocks.0"));
}

TEST(SummaryCommand, TakesACheckpoint) {
  const test::TemporaryFolder folder;
  const auto path = folder / "small.safetensors";
  test::save_small_checkpoint(path, "vit_c10_small", test::kSmallVit);
  const auto result = run_command({"summary", path.string()});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "[1, 17, 32]"));
}

TEST(SummaryCommand, RefusesBadInputClearly) {
  EXPECT_TRUE(contains(run_command({"summary", "vit_b61"}).err, "did you mean 'vit_b16'?"));
  EXPECT_TRUE(contains(run_command({"summary", "vit_b16", "imag=3"}).err, "image"));
  EXPECT_TRUE(contains(run_command({"summary", "vit_b16", "image=100"}).err,
                       "patch 16 does not divide image 100"));
  EXPECT_EQ(run_command({"summary", "vit_b16", "image=100"}).code, 2);
  EXPECT_EQ(run_command({"summary"}).code, 2);
  const test::TemporaryFolder folder;
  EXPECT_TRUE(contains(run_command({"summary", folder.path().string()}).err, "not a run folder"));
}

TEST(EvalCommand, ReportsOnTheDataOfTheRecipe) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "small.safetensors").string();
  test::save_small_checkpoint(path, "vit_c10_small", test::kSmallVit);
  const auto result = run_command({"eval", path, "--json", "--threads", "1"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto scores = json::parse(result.out);
  EXPECT_EQ(scores["split"], "test");
  EXPECT_EQ(scores["examples"], 24);
  EXPECT_GT(scores["loss"], 0);
  EXPECT_EQ(scores["accuracy"], scores["report"]["accuracy"]);
  EXPECT_EQ(scores["report"]["confusion_matrix"].size(), 4);
  const auto text = run_command({"eval", path, "--split", "validation"});
  EXPECT_TRUE(contains(text.out, "on 4 validation examples of synthetic"));
  EXPECT_TRUE(contains(text.out, "weighted avg"));
}

TEST(EvalCommand, RefusesBadInputClearly) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "small.safetensors").string();
  test::save_small_checkpoint(path, "vit_c10_small", test::kSmallVit);
  EXPECT_TRUE(contains(run_command({"eval", path, "--split", "exam"}).err, "exam"));
  EXPECT_TRUE(
      contains(run_command({"eval", path, "--device", "warp"}).err, "device: 'warp' is not known"));
  EXPECT_TRUE(
      contains(run_command({"eval", path, "data.dataset.classes=3"}).err, "are not those that"));
  EXPECT_TRUE(contains(run_command({"eval", (folder / "none").string()}).err, "does not exist"));
}

TEST(ExplainCommand, WritesThePage) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "small.safetensors").string();
  test::save_small_checkpoint(path, "cct_2_3x2");
  const auto image = (folder / "p.png").string(), out = (folder / "out").string();
  write_png(image, Image(16, 16));
  const auto result = run_command({"explain", "--model", path, image, "--out", out});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, out + "/explain.html\n");
  EXPECT_TRUE(fs::exists(out + "/rollout.png"));
  EXPECT_TRUE(contains(result.err, " × uniform"));
  const auto json =
      json_lines(run_command({"explain", "--model", path, image, "--out", out, "--json"}).out)
          .at(0);
  EXPECT_LE(json["rollout"]["least"], 1);
  EXPECT_GE(json["rollout"]["greatest"], 1);
}

TEST(ExplainCommand, MakesAGalleryOfAFolderAndMeasures) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "small.safetensors").string();
  test::save_small_checkpoint(path, "cct_2_3x2");
  fs::create_directory(folder / "images");
  write_png(folder / "images" / "a.png", Image(16, 16));
  write_png(folder / "images" / "c.png", Image(20, 16));
  const auto out = (folder / "out").string();
  const std::vector<std::string> command = {
      "explain",        "--model", path,       (folder / "images").string(),
      "--out",          out,       "--method", "relevance,gradcam",
      "--faithfulness", "--json"};
  const auto result = run_command(command);
  ASSERT_EQ(result.code, 0) << result.err;
  const auto lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 3u);  // two images and the index
  EXPECT_FALSE(lines[0].contains("rollout"));
  EXPECT_TRUE(lines[0].contains("relevance") && lines[0].contains("gradcam"));
  EXPECT_EQ(lines[2]["index"], out + "/index.html");
  ASSERT_EQ(lines[2]["faithfulness"].size(), 3u);
  EXPECT_EQ(lines[2]["faithfulness"][0]["images"], 2);
  EXPECT_TRUE(contains(result.err, "deletion AUC"));
  EXPECT_TRUE(fs::exists(out + "/0002-c/explain.html"));

  write_file_atomically(folder / "images" / "b.png", "not an image");
  const auto partly = run_command(command);
  EXPECT_EQ(partly.code, 1);
  EXPECT_TRUE(contains(partly.err, "b.png"));
  EXPECT_EQ(json_lines(partly.out).size(), 4u);
}

TEST(ExplainCommand, RefusesUnknownClassesAndMethods) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "small.safetensors").string();
  test::save_small_checkpoint(path, "cct_2_3x2");
  const auto image = (folder / "p.png").string(), out = (folder / "out").string();
  write_png(image, Image(16, 16));
  const auto with = [&](const std::string& option, const std::string& value) {
    return run_command({"explain", "-m", path, image, "-o", out, option, value});
  };
  EXPECT_EQ(with("--class", "zebra").code, 2);
  EXPECT_TRUE(contains(with("--class", "zebra").err, "no class 'zebra'"));
  EXPECT_EQ(with("--method", "gradcan").code, 2);
  EXPECT_TRUE(contains(with("--method", "gradcan").err, "did you mean 'gradcam'?"));
  EXPECT_EQ(with("--discard", "1").code, 2);
  EXPECT_EQ(with("--heads", "sum").code, 2);
  EXPECT_FALSE(fs::exists(out));
}

TEST(ExplainCommand, RefusesAnImageThatIsNone) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "small.safetensors").string();
  test::save_small_checkpoint(path, "cct_2_3x2");
  const auto image = (folder / "text.png").string(), out = (folder / "out").string();
  write_file_atomically(image, "not an image");
  const auto result = run_command({"explain", "--model", path, image, "--out", out});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.err, "text.png"));
  EXPECT_FALSE(fs::exists(out));
}

TEST(DataExportCommand, WritesNumberedImages) {
  const test::TemporaryFolder folder;
  const auto out = (folder / "images").string();
  const auto result =
      run_command({"data", "export", "synthetic", "--split", "test", "-n", "3", "--out", out});
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_EQ(read_image(line).width, 32) << line;
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(contains(result.out, "/0001-"));
}

}  // namespace vitrine
