#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/small_checkpoint.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/translations.h"
#include "vitrine/studies/finetune/study.h"

namespace vitrine::finetune {
namespace {

const std::vector<SideSpeed> kSpeeds = {{224, 20, 60}, {128, 70, 210}, {64, 300, 900}};

PlanRequest request(double hours) {
  return {.hours = hours,
          .epochs = {10, 10, 50},
          .runs = 4,
          .classes = 10,
          .images = 49000,
          .validation = 1000,
          .test = 10000};
}

/// The hours that a plan takes by its measured speeds, without overheads.
double plain_hours(const Plan& plan, const PlanRequest& r) {
  for (const auto& speed : plan.speeds)
    if (speed.image == plan.image) {
      double seconds = 0;
      for (const auto epochs : plan.epochs)
        seconds +=
            static_cast<double>(epochs) * (static_cast<double>(plan.images) / speed.training +
                                           static_cast<double>(r.validation) / speed.inference) +
            static_cast<double>(r.test) / speed.inference;
      return static_cast<double>(r.runs) * seconds / 3600;
    }
  return std::nan("");
}

/// Recipes of the three experiments on images that need no files.
void write_recipes(const fs::path& folder) {
  for (int i = 1; i <= 3; ++i)
    write_file_atomically(
        folder / fmt::format("experiment{}.yaml", i),
        fmt::format(
            "name: e{}\nmodel: {{image: 16}}\ndata: {{dataset: {{name: synthetic, train: 96, "
            "test: 24, image: 16, classes: 3}}, batch: 16, validation: 0.25}}\n"
            "train: {{epochs: {}, optimizer: {{lr: 1e-3}}}}\n",
            i, i == 3 ? 50 : 10));
}

int run_smoke(const fs::path& folder, const std::string& more) {
  return std::system(fmt::format("{} study finetune --smoke --out {}/out --sweeps {}/recipes {} "
                                 "> {}/log 2>&1",
                                 VITRINE_PROGRAM, folder.string(), folder.string(), more,
                                 folder.string())
                         .c_str());
}

}  // namespace

TEST(FinetunePlan, TakesAllImagesAtFullSizeWhereThereIsTime) {
  const auto plan = make_plan(request(1000), kSpeeds);
  EXPECT_EQ(plan.image, 224);
  EXPECT_EQ(plan.images, 49000);
  EXPECT_EQ(plan.epochs, (std::vector<int64_t>{10, 10, 50}));
  EXPECT_NEAR(plan.estimate, 1.15 * plain_hours(plan, request(1000)), 1e-6);
  EXPECT_LT(plan.estimate, 1000);
}

TEST(FinetunePlan, TakesTheLargestSideWithEnoughImagesInTime) {
  for (const double hours : {3.0, 6.0, 12.0, 24.0, 48.0}) {
    const auto plan = make_plan(request(hours), kSpeeds);
    EXPECT_LE(plan.estimate, hours);
    EXPECT_GT(plan.estimate, 0.95 * hours) << "time is left over";
    EXPECT_GE(plan.images, 2500);
    EXPECT_EQ(plan.images % 10, 0);
    EXPECT_NEAR(plan.estimate, 1.15 * plain_hours(plan, request(hours)), 1e-6);
  }
  EXPECT_EQ(make_plan(request(3), kSpeeds).image, 64);
  EXPECT_EQ(make_plan(request(6), kSpeeds).image, 128);
  EXPECT_EQ(make_plan(request(24), kSpeeds).image, 224);
}

TEST(FinetunePlan, ShortensTheLongRunBeforeItTakesTooFewImages) {
  const auto shorter = make_plan(request(0.8), kSpeeds);
  EXPECT_EQ(shorter.image, 64);
  EXPECT_LT(shorter.epochs[2], 50);
  EXPECT_GE(shorter.images, 2500);
  EXPECT_EQ(shorter.epochs[0], 10);
  const auto least = make_plan(request(0.01), kSpeeds);
  EXPECT_EQ(least.images, 200);
  EXPECT_EQ(least.epochs[2], 20);
  EXPECT_GT(least.estimate, 0.01);  // and the report says so
}

TEST(FinetuneCurves, TakeTheEpochsOfARun) {
  const auto curves = epoch_curves({{"step", 1, 5, 0, {{"loss", 9}}},
                                    {"epoch",
                                     1,
                                     10,
                                     0,
                                     {{"train_loss", 2},
                                      {"train_accuracy", 0.5},
                                      {"validation_loss", 1},
                                      {"validation_accuracy", 0.75}}},
                                    {"test", 1, 10, 0, {{"loss", 7}}}});
  EXPECT_EQ(curves.train_loss, std::vector<double>{2});
  EXPECT_EQ(curves.train_accuracy, std::vector<double>{0.5});
  EXPECT_EQ(curves.validation_loss, std::vector<double>{1});
  EXPECT_EQ(curves.validation_accuracy, std::vector<double>{0.75});
}

TEST(FinetuneTexts, AreTheSameInEveryLanguage) {
  test::expect_same_in_every_language(finetune_texts());
}

TEST(FinetuneStudyRun, RunsAllThreeFromBothStartsAndDrawsTheirCurves) {
  test::TemporaryFolder folder;
  make_folder(folder / "recipes");
  write_recipes(folder / "recipes");
  const auto init = folder / "init.safetensors";
  test::save_small_checkpoint(init, "vit_c10_small", test::kSmallVit);
  ASSERT_EQ(run_smoke(folder.path(), "--init " + init.string()), 0) << read_file(folder / "log");
  for (const auto* figure : {"experiment1", "experiment2", "experiment3"}) {
    EXPECT_TRUE(fs::exists(folder / fmt::format("out/figures/{}.png", figure)));
    EXPECT_TRUE(fs::exists(folder / fmt::format("out/figures-ko/{}.svg", figure)));
  }
  const auto page = read_file(folder / "out/report.html");
  EXPECT_TRUE(test::contains(page, "97.53"));
  EXPECT_TRUE(test::contains(page, "from scratch"));
  EXPECT_TRUE(test::contains(page, "percentage points"));
  EXPECT_TRUE(fs::exists(folder / "out/report.ko.html"));
  const auto runs = folder / "out/sweeps/finetune-experiment3-smoke/runs";
  const auto stored = [&](const char* run) { return read_file(runs / run / "recipe.yaml"); };
  EXPECT_TRUE(test::contains(stored("scratch=true,seed=1"), "scratch: true"));
  EXPECT_TRUE(test::contains(stored("scratch=false,seed=1"), "epochs: 3"));
  // The plan is the folder's: other weights or another time need another one.
  EXPECT_NE(run_smoke(folder.path(), "--hours 9 --init " + init.string()), 0);
  EXPECT_TRUE(test::contains(read_file(folder / "log"), "another --out"));
}

TEST(FinetuneStudyRun, AsksForWeights) {
  const auto none = test::run_command({"study", "finetune", "--out", "/tmp/none"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(test::contains(none.err, "--init FILE"));
  EXPECT_EQ(test::run_command({"study", "sparse", "--init", "x"}).code, 2);
}

}  // namespace vitrine::finetune
