#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/translations.h"
#include "vitrine/studies/scratch/study.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/train/config.h"

namespace vitrine::scratch {
namespace {

const fs::path kRecipes = VITRINE_SOURCE_DIR "/recipes", kSweeps = kRecipes / "scratch";

/// Three runs with one learning rate; the test accuracy is a point above that of the validation.
RateRuns runs_with(double rate, double accuracy) {
  RateRuns runs{.rate = rate};
  runs.point.point.settings = {{kLearningRateKey, fmt::format("{:g}", rate)}};
  for (const int64_t seed : {1, 2, 3}) {
    const double value = accuracy + 0.01 * static_cast<double>(seed - 2);
    runs.point.runs.push_back({.seed = seed,
                               .outcome = RunOutcome{.selection_metric = {.name = "accuracy"},
                                                     .validation = {{"accuracy", value}},
                                                     .test = {{"accuracy", value + 0.01}},
                                                     .steps = 768,
                                                     .seconds = 180}});
    runs.loss.push_back({{1, 180}, {2.3, 2.3 - accuracy}});
  }
  return runs;
}

ScratchStudy some_study() {
  return {.minutes = 3,
          .parameters = 4'800'000,
          .dim = 256,
          .batch = 32,
          .rates = {runs_with(5e-7, 0.2), runs_with(1e-3, 0.45), runs_with(3e-3, 0.5)}};
}

}  // namespace

TEST(ScratchRecipe, IsTheReferenceOnANarrowerNetwork) {
  auto recipe = read_recipe((kRecipes / "scratch.yaml").string(), {});
  auto reference = read_recipe((kRecipes / "vit-302m-cifar10.yaml").string(),
                               {"model.dim=128", "model.heads=2", "model.hidden=512"});
  EXPECT_EQ(to_yaml(recipe.model), to_yaml(reference.model));
  EXPECT_EQ(reference.train.optimizer.lr, kReferenceRate);
  constexpr int64_t kTraining = 50'000;
  const auto images = std::llround(kTraining * (1 - reference.data.validation));
  const auto step = reference.data.batch * reference.train.accumulate;
  EXPECT_EQ((images + step - 1) / step * reference.train.epochs, kReferenceUpdates);
  // Besides its size, only the length and what is stored of a run are others.
  reference.name = recipe.name;
  reference.seed = recipe.seed;
  reference.data.batch = recipe.data.batch;
  reference.train.accumulate = 1;
  reference.train.epochs = recipe.train.epochs;
  reference.train.checkpoint_steps = recipe.train.checkpoint_steps;
  reference.train.log_steps = recipe.train.log_steps;
  EXPECT_EQ(to_yaml(recipe), to_yaml(reference));
}

TEST(ScratchRecipe, IsTriedWithSevenLearningRatesForEqualTime) {
  const auto config = read_sweep(kSweeps / "rates.yaml");
  EXPECT_EQ(config.budget, 180);
  EXPECT_EQ(config.seeds.size(), 3u);
  std::vector<double> rates;
  for (const auto& point : sweep_points(config)) rates.push_back(*point.number(kLearningRateKey));
  EXPECT_EQ(rates, (std::vector<double>{5e-7, 5e-6, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3}));
}

TEST(ScratchStudyRates, AreChosenByTheValidationImagesAmongThoseThatNeverFail) {
  auto study = some_study();
  for (auto& run : study.rates[1].point.runs) run.outcome->test = {{"accuracy", 0.99}};
  EXPECT_EQ(best_rate(study), &study.rates[2]);
  study.rates[2].point.runs[0] = {.seed = 1, .error = "the loss is nan"};
  EXPECT_EQ(best_rate(study), &study.rates[1]);
  EXPECT_EQ(best_rate({}), nullptr);
}

TEST(ScratchReport, ComparesTheBestLearningRateWithTheReference) {
  const test::TemporaryFolder folder;
  auto study = some_study();
  study.rates[2].point.runs[0] = {.seed = 1, .error = "the loss is nan"};
  write_scratch_report(study, folder.path());
  const auto html = read_file(folder / "report.html");
  for (const auto* text :
       {"the best learning rate is 0.001, with a test accuracy of 46.0 ± 1.0 %.",
        "With 5e-07, which is 2000 times lower, it is 21.0 ± 1.0 %.",
        "about 76,800 updates of 5e-07, which add up to 0.038", "5.0e-05 adds up to the same",
        "0.001 at 256 dimensions would be 2.5e-04 at 1,024",
        "Runs that failed: 1 (the loss is nan)", "46.00 ± 1.00"})
    EXPECT_TRUE(test::contains(html, text)) << text;
  EXPECT_TRUE(test::contains(read_file(folder / "report.ko.html"), "가장 좋은 학습률은 0.001"));
  for (const auto* figures : {"figures", "figures-ko"})
    EXPECT_TRUE(fs::exists(folder / figures / "rates.png")) << figures;
  write_scratch_report({}, folder.path());
  EXPECT_TRUE(test::contains(read_file(folder / "report.html"), "Not run yet: rates."));
}

TEST(ScratchTexts, AreAlikeInEveryLanguage) {
  test::expect_same_in_every_language(scratch_texts());
}

TEST(StudyScratch, TrainsWithEachLearningRateAndReports) {
  const test::TemporaryFolder folder;
  const auto out = folder / "study";
  const auto command = fmt::format("{} study scratch --smoke --out {} --sweeps {} > {}.log 2>&1",
                                   VITRINE_PROGRAM, out.string(), kSweeps.string(), out.string());
  ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder / "study.log");
  const auto html = read_file(out / "report.html");
  for (const auto* text : {">5e-07</td>", ">5e-06</td>", "Finding: by the validation images"})
    EXPECT_TRUE(test::contains(html, text)) << text;
  EXPECT_FALSE(test::contains(html, "Runs that failed"));
  EXPECT_TRUE(fs::exists(out / "report.ko.html"));
}

}  // namespace vitrine::scratch
