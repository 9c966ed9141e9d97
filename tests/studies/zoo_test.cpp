#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/translations.h"
#include "vitrine/inspect/cards/families.h"
#include "vitrine/models/model.h"
#include "vitrine/models/shapes_only.h"
#include "vitrine/studies/run_curves.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/studies/zoo/study.h"
#include "vitrine/train/config.h"

namespace vitrine::zoo {
namespace {

const fs::path kRecipes = VITRINE_SOURCE_DIR "/recipes", kSweeps = kRecipes / "zoo";

SweepConfig sweep_of(const std::string& network) {
  return read_sweep(kSweeps / (network + ".yaml"));
}

Recipe recipe_of(const std::string& network) {
  const auto config = sweep_of(network);
  return read_recipe(config.recipe.string(),
                     run_overrides(sweep_points(config).at(0), /*seed=*/1, config.budget));
}

bool classifies_images(const ModelEntry& entry) {
  const ShapesOnly shapes_only;
  const auto model = entry.blueprint->build();
  return model->task() == Task::Classes && model->image_shape();
}

bool has_network_of(const ModelFamily& family) {
  return std::any_of(network_names().begin(), network_names().end(), [&](const auto& network) {
    return family.has(recipe_of(network).model.name());
  });
}

/// A network that sees so many images in each of two runs.
TrainedNetwork network_with(double accuracy, int64_t steps) {
  TrainedNetwork network{.model = "vit_c10_small",
                         .parameters = 4'028'170,
                         .multiply_adds = 280'000'000,
                         .batch = 128};
  for (const int64_t seed : {1, 2}) {
    const auto test = accuracy + 0.01 * static_cast<double>(seed);
    network.point.runs.push_back({.seed = seed,
                                  .outcome = RunOutcome{.selection_metric = {.name = "accuracy"},
                                                        .validation = {{"accuracy", accuracy}},
                                                        .test = {{"accuracy", test}},
                                                        .steps = steps,
                                                        .seconds = 600,
                                                        .peak_bytes = 812'000'000}});
    network.accuracy.push_back({{300, 600}, {accuracy / 2, accuracy}});
    network.loss.push_back({{1, 300, 600}, {2.3, 1.8, 1.5}});
  }
  return network;
}

}  // namespace

TEST(ZooStudy, AccuracyOverTimeHasTheEvaluationsInsideEpochs) {
  const auto curve =
      validation_curve({{"step", 1, 20, 0, {{"loss", 2}, {"seconds", 9}}},
                        {"evaluation", 1, 20, 0, {{"validation_accuracy", 0.3}, {"seconds", 10}}},
                        {"epoch", 1, 30, 0, {{"validation_accuracy", 0.4}, {"seconds", 15}}},
                        {"epoch", 2, 60, 0, {{"seconds", 30}}}},
                       "accuracy");
  EXPECT_EQ(curve.seconds, (std::vector<double>{10, 15}));
  EXPECT_EQ(curve.values, (std::vector<double>{0.3, 0.4}));
  for (const auto& network : network_names())
    EXPECT_EQ(recipe_of(network).train.evaluate_steps, 50) << network;
}

TEST(ZooSweeps, CoverEveryFamilyOfImageClassifiers) {
  int64_t classifiers = 0;
  for (const auto& [name, entry] : models()) {
    if (!entry.alias_of.empty() || !classifies_images(entry)) continue;
    ++classifiers;
    const auto& families = model_families();
    const auto family = std::find_if(families.begin(), families.end(),
                                     [&, &name = name](const auto& one) { return one.has(name); });
    ASSERT_NE(family, families.end()) << name << " is of no family";
    EXPECT_TRUE(has_network_of(*family)) << family->name << " has no sweep in recipes/zoo";
  }
  EXPECT_GT(classifiers, 50);
}

TEST(ZooSweeps, TakeEveryRecipeOfTheseFamilies) {
  const std::set<std::string> others = {"vit-302m-cifar10",   // the study scratch asks about it
                                        "vit-small-cifar10",  // too large for ten minutes
                                        "resnet18-cifar10",   // too large for ten minutes
                                        "distill-cifar10",    // needs a teacher
                                        "demo-cifar10"};      // a shorter cct2-cifar10
  std::set<std::string> taken, known;
  for (const auto& network : network_names()) taken.insert(sweep_of(network).recipe.stem());
  for (const auto& family : model_families())
    if (has_network_of(family))
      for (const auto& recipe : family.recipes)
        if (!others.contains(recipe)) known.insert(recipe);
  EXPECT_EQ(taken, known);
}

TEST(ZooSweeps, AreTheFilesOfTheirFolder) {
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(kSweeps)) files.insert(entry.path().stem());
  EXPECT_EQ(files, std::set<std::string>(network_names().begin(), network_names().end()));
}

TEST(ZooSweeps, DifferInTheNetworkAndItsOptimizerAlone) {
  std::string first;
  for (const auto& network : network_names()) {
    auto recipe = recipe_of(network);
    EXPECT_EQ(recipe.train.budget_seconds, 600);
    EXPECT_EQ(recipe.train.schedule.over, ScheduleSpan::Budget);
    const auto own = read_recipe(sweep_of(network).recipe.string(), {});
    EXPECT_EQ(recipe.train.optimizer.lr, own.train.optimizer.lr) << network;
    recipe.name = "zoo";
    recipe.model.choose("vit_c10_small");
    recipe.train.optimizer = {};
    recipe.train.clip = 0;
    if (first.empty()) first = to_yaml(recipe);
    EXPECT_EQ(to_yaml(recipe), first) << network;
  }
}

TEST(ZooReport, RanksWhatIsThereAndNamesWhatIsMissing) {
  const test::TemporaryFolder folder;
  ZooStudy study{.minutes = 10};
  study.networks["vit"] = network_with(0.4, 300);
  study.networks["cct"] = network_with(0.6, 1000);
  study.networks["tnt"] = network_with(0.5, 200);
  study.networks["tnt"].point.runs[1] = {.seed = 2, .error = "no memory"};
  study.speed = SpeedPart{.threads = 1, .batch = 64, .networks = {{"cct", 1234.2}}};
  write_zoo_report(study, folder.path());
  const auto html = read_file(folder / "report.html");
  for (const auto* text :
       {"Not run yet: vit-performer, swin, swin-v2, pvt, pvt-v2, cvt, resnet, hybrid, t2t.",
        "test accuracy, best first: CCT 61.5 %, TNT 51.0 %, ViT 41.5 %.",
        "CCT saw the most images (128,000) and is number 1 of 3.",
        "TNT saw the fewest (25,600) and is number 2.", "Runs that failed: 1 (TNT: no memory).",
        "61.50 ± 0.71", "4,028,170", "280.0", "213", "1234", "812"})
    EXPECT_TRUE(test::contains(html, text)) << text;
  const auto korean = read_file(folder / "report.ko.html");
  for (const auto* text : {"CCT 61.5%, TNT 51.0%, ViT 41.5%", "3개 모델 가운데 1위입니다"})
    EXPECT_TRUE(test::contains(korean, text)) << text;
  for (const std::string figure : {"time", "size"})
    for (const auto* figures : {"figures", "figures-ko"})
      EXPECT_TRUE(fs::exists(folder / figures / (figure + ".png"))) << figures << figure;
}

TEST(ZooTexts, AreAlikeInEveryLanguageAndNameEveryNetwork) {
  test::expect_same_in_every_language(zoo_texts());
  for (const auto& network : network_names())
    EXPECT_FALSE(report::Translations(zoo_texts(), "en").at("networks." + network).empty());
}

TEST(StudyZoo, TrainsEveryNetworkMeasuresAndReports) {
  const test::TemporaryFolder folder;
  const auto out = folder / "study";
  const auto command = fmt::format("{} study zoo --smoke --out {} --sweeps {} > {}.log 2>&1",
                                   VITRINE_PROGRAM, out.string(), kSweeps.string(), out.string());
  ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder / "study.log");
  for (const auto* page : {"report.html", "report.ko.html"}) {
    const auto html = read_file(out / page);
    EXPECT_FALSE(test::contains(html, "–</td>")) << page;  // a number that is missing
    for (const auto* text : {"Not run yet", "Runs that failed", "아직 실행하지", "실패한 실행"})
      EXPECT_FALSE(test::contains(html, text)) << page << text;
  }
  const auto html = read_file(out / "report.html");
  const report::Translations english(zoo_texts(), "en");
  for (const auto& network : network_names())
    EXPECT_TRUE(test::contains(html, english.at("networks." + network))) << network;
}

TEST(StudyZoo, TheTimeOfARunIsForThisStudyAndScratchOnly) {
  const auto outcome = test::run_command({"study", "addition", "--minutes", "2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(test::contains(outcome.err, "--minutes is for the studies zoo and scratch"));
  const auto file = kSweeps / "vit.yaml";
  EXPECT_EQ(part_config({}, file).budget, 600);
  const auto shorter = part_config({.minutes = 1.5}, file);
  EXPECT_EQ(shorter.budget, 90);
  EXPECT_EQ(shorter.name, "zoo-vit-1.5min");
}

}  // namespace vitrine::zoo
