#include "vitrine/cli/commands.h"
#include "tests/support/command.h"
#include "tests/support/errors.h"
#include "vitrine/core/files.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/registry.h"
#include "vitrine/studies/addition/study.h"
#include "vitrine/studies/sweep_plan.h"
#include "vitrine/train/config.h"

#include <nlohmann/json.hpp>

namespace vitrine {

TEST(Commands, EveryOneExplainsItselfAndRefusesUnknownOptions) {
  const auto overview = test::run_command({"--help"});
  for (const auto& command : cli::commands()) {
    EXPECT_TRUE(test::contains(overview.out, command.summary)) << command.name;
    const auto help = test::run_command({command.name, "--help"});
    EXPECT_EQ(help.code, 0) << command.name;
    EXPECT_TRUE(test::contains(help.out, command.summary));
    const auto misuse = test::run_command({command.name, "--no-such-option"});
    EXPECT_EQ(misuse.code, 2) << command.name;
    EXPECT_FALSE(misuse.err.empty());
  }
}

TEST(Recipes, EveryOneReadsFitsItsModelAndSurvivesTheRoundTrip) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(VITRINE_SOURCE_DIR "/recipes")) {
    if (entry.is_directory()) continue;
    const auto recipe = read_recipe(entry.path(), {});
    EXPECT_GT(summarize(recipe.model).parameters, 0) << entry.path();
    const auto text = to_yaml(recipe);
    Recipe again;
    Settings::from_text(text, "stored").read_into(again);
    EXPECT_EQ(to_yaml(again), text) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 3);
}

TEST(Sweeps, EveryOneReadsAndSetsKeysThatItsRecipeHas) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(VITRINE_SOURCE_DIR "/recipes/addition")) {
    const auto sweep = read_sweep(entry.path());
    for (const auto& point : sweep_points(sweep))
      EXPECT_NO_THROW(read_recipe(sweep.recipe, run_overrides(point, /*seed=*/1, sweep.budget)))
          << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 2 * std::ssize(addition::addition_parts()));
}

TEST(Bench, PrintsTimesAndTheMachinesLimit) {
  for (const auto* kind : {"train", "infer"}) {
    const auto outcome = test::run_command({"bench", kind, "--model", "cct_2_3x2", "--batch", "2",
                                            "--seconds", "0.1", "--json", "--ops", "depth=1"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_GT(json["examples_per_second"].get<double>(), 0);
    EXPECT_GT(json["gflops"].get<double>(), 0);
    EXPECT_GT(json["sgemm_gflops"].get<double>(), 0);
    EXPECT_EQ(json["image"], 32);
    double in_operators = 0;
    for (const auto& op : json["ops"]) {
      EXPECT_GT(op["calls_per_step"].get<double>(), 0) << op;
      in_operators += op["ms_per_step"].get<double>();
    }
    EXPECT_GT(in_operators, 0);
  }
  EXPECT_EQ(test::run_command({"bench", "train", "--batch", "0"}).code, 2);
  EXPECT_EQ(test::run_command({"bench", "train", "--model", "vit_b61"}).code, 2);
}

}  // namespace vitrine
