#include <gtest/gtest.h>

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

TEST_F(PredictCommand, RefusesMisuse) {
  EXPECT_EQ(run_command({"predict", good_}).code, 2);
  EXPECT_EQ(run_command({"predict", "--model", model_}).code, 2);
  EXPECT_EQ(run_command({"predict", "--model", model_, good_, "--top-k", "0"}).code, 1);
  EXPECT_TRUE(contains(run_command({"predict", "--model", bad_, good_}).err, "bad.png"));
}

}  // namespace vitrine
