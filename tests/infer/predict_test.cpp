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

using nlohmann::json;
using test::contains;
using test::run_command;

class PredictCommand : public testing::Test {
 protected:
  PredictCommand() {
    test::save_small_checkpoint(model_, "cct_2_3x2");
    write_png(good_, Image(20, 30));
    write_file_atomically(bad_, "only text");
  }

  test::TemporaryFolder folder_;
  const std::string model_ = (folder_ / "m.safetensors").string();
  const std::string good_ = (folder_ / "good.png").string();
  const std::string bad_ = (folder_ / "bad.png").string();
};

}  // namespace

TEST_F(PredictCommand, NamesEachImage) {
  const auto result = run_command({"predict", "--model", model_, good_, good_, "--top-k", "2"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 6);
  EXPECT_TRUE(contains(result.out, good_ + "\n  "));
}

TEST_F(PredictCommand, WritesAJsonObjectPerLine) {
  const auto result = run_command({"predict", "--model", model_, "--json", good_});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto answer = json::parse(result.out);
  EXPECT_EQ(answer["file"], good_);
  ASSERT_EQ(answer["predictions"].size(), 4);
  double sum = 0;
  for (const auto& p : answer["predictions"]) sum += p["probability"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST_F(PredictCommand, ReportsABadFileAndNamesTheOthers) {
  const auto result = run_command({"predict", "--model", model_, "--json", bad_, good_});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.err, "bad.png"));
  std::istringstream lines(result.out);
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_TRUE(contains(json::parse(first)["error"], "bad.png"));
  EXPECT_EQ(json::parse(second)["file"], good_);
}

TEST_F(PredictCommand, TakesFoldersAndWritesATable) {
  const auto images = folder_ / "images";
  make_folder(images / "b" / "deep");
  make_folder(images / ".hidden");
  write_png(images / "b" / "deep" / "2.PNG", Image(20, 20));
  write_png(images / "b" / "one, \"two\".png", Image(30, 20));
  write_png(images / "a.jpeg", Image(20, 20));  // told by its content
  write_png(images / ".hidden" / "0.png", Image(20, 20));
  write_file_atomically(images / "notes.txt", "text");
  write_file_atomically(images / "broken.webp", "text");
  fs::create_directory_symlink(images, images / "b" / "loop");
  const auto csv = (folder_ / "out.csv").string();
  const auto result =
      run_command({"predict", images.string(), "-m", model_, "-k", "2", "--csv", csv});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "broken.webp"));
  EXPECT_TRUE(contains(result.err, "wrote " + csv + ": 4 images, 1 of them unreadable"));
  std::istringstream lines(read_file(csv));
  std::vector<std::string> rows;
  for (std::string row; std::getline(lines, row);) rows.push_back(row);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0], "file,class_1,probability_1,class_2,probability_2,error");
  EXPECT_TRUE(rows[1].starts_with((images / "a.jpeg").string() + ",stripes "));
  EXPECT_TRUE(rows[2].starts_with((images / "broken.webp").string() + ",,,,,"));
  EXPECT_TRUE(rows[3].starts_with("\"" + (images / "b").string() + "/one, \"\"two\"\".png\","));
  EXPECT_TRUE(contains(rows[4], "2.PNG"));
  EXPECT_EQ(std::count(rows[1].begin(), rows[1].end(), ','), 5);

  const auto as_json = run_command({"predict", "--json", (images / "b").string(), "-m", model_});
  EXPECT_EQ(as_json.code, 0) << as_json.err;
  EXPECT_EQ(std::count(as_json.out.begin(), as_json.out.end(), '\n'), 2);
}

TEST_F(PredictCommand, RefusesFoldersAndTablesThatCannotBe) {
  make_folder(folder_ / "empty");
  const auto empty = run_command({"predict", (folder_ / "empty").string(), "-m", model_});
  EXPECT_EQ(empty.code, 1);
  EXPECT_TRUE(contains(empty.err, "holds no .jpg"));
  const auto nowhere = (folder_ / "none" / "out.csv").string();
  EXPECT_TRUE(contains(run_command({"predict", good_, "-m", model_, "--csv", nowhere}).err,
                       "none does not exist"));
  EXPECT_TRUE(
      contains(run_command({"predict", good_, "-m", model_, "--csv", folder_.path().string()}).err,
               "is a folder"));
}

TEST_F(PredictCommand, GoesOnBehindPathsThatCannotBeFollowed) {
  const auto loop = (folder_ / "loop.png").string(), long_name = std::string(5000, 'x');
  fs::create_symlink(loop, loop);
  const auto result = run_command({"predict", "--model", model_, loop, long_name, good_});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.err, "loop.png: Too many levels of symbolic links"));
  EXPECT_TRUE(contains(result.err, "File name too long"));
  EXPECT_TRUE(contains(result.out, good_ + "\n  "));
}

TEST_F(PredictCommand, RefusesWeightsThatAreNotFinite) {
  const auto loaded = load_checkpoint(model_);
  {
    const torch::NoGradGuard no_grad;
    loaded.model->parameters().front().fill_(std::nan(""));
  }
  save_checkpoint(model_, *loaded.model, loaded.info);
  const auto result = run_command({"predict", "--model", model_, good_});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "the network's logits are not finite"));
}

TEST_F(PredictCommand, AnswersGoodSumsAndRefusesTheOthers) {
  const CheckpointInfo info{.model = ModelChoice("addition_cnn")};
  const auto model = info.model.build();
  save_checkpoint(model_, *model, info);
  const auto result =
      run_command({"predict", "57+68", "100+1", good_, "1+2", "-m", model_, "--json"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.out, "{\"input\":\"57+68\",\"sum\":"));
  EXPECT_TRUE(contains(result.out, "{\"input\":\"1+2\",\"sum\":"));
  EXPECT_TRUE(contains(result.out, "{\"input\":\"100+1\",\"error\":"));
  for (const auto& bad : {std::string("100+1"), good_})
    EXPECT_TRUE(contains(result.err, "'" + bad + "' is not a sum of two numbers from 0 to 99"));
  {
    const torch::NoGradGuard no_grad;
    model->parameters().front().fill_(std::nan(""));
  }
  save_checkpoint(model_, *model, info);
  EXPECT_TRUE(contains(run_command({"predict", "1+2", "-m", model_}).err, "are not finite"));
}

TEST_F(PredictCommand, SaysWhatAResumeStateIsAndWhichFileToUse) {
  const auto state = (folder_ / "resume.safetensors").string();
  save_safetensors(state, {.tensors = {}, .metadata = {{"position", "{}"}}});
  for (const auto& command : {std::vector<std::string>{"predict", "-m", state, good_},
                              {"eval", state},
                              {"summary", state}}) {
    const auto result = run_command(command);
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(contains(result.err, "is the resume state of a run"));
    EXPECT_TRUE(contains(result.err, (folder_ / "best.safetensors").string()));
  }
}

TEST_F(PredictCommand, RefusesMisuse) {
  EXPECT_EQ(run_command({"predict", good_}).code, 2);
  EXPECT_EQ(run_command({"predict", "--model", model_}).code, 2);
  EXPECT_EQ(run_command({"predict", "--model", model_, good_, "--top-k", "0"}).code, 2);
  EXPECT_TRUE(contains(run_command({"predict", "-m", model_, good_, "-k", "-1"}).err,
                       "-1 is out of range (1 or more)"));
  EXPECT_TRUE(contains(run_command({"predict", "--model", bad_, good_}).err, "bad.png"));
}

}  // namespace vitrine
