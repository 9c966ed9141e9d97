#include <gtest/gtest.h>

#include <ctime>
#include <limits>

#include "tests/support/small_server.h"
#include "vitrine/train/run_result.h"

namespace vitrine::serve {
namespace {

constexpr const char* kSweep = R"(
name: widths
recipe: ../recipes/small.yaml
seeds: [1, 2]
set: {model.layers: 2}
grid:
  model.embed: [8, 32]
  train.optimizer.kind: [sgd, adamw]
)";

/// A sweep of eight runs of which three are there: two ended, one failed.
void make_sweep(const fs::path& folder) {
  const auto run = [&](const std::string& name, double validation, double test) {
    fs::create_directories(folder / "runs" / name);
    write_run_outcome(
        folder / "runs" / name / "result.json",
        {.stop_reason = StopReason::OverBudget,
         .selection_metric = {.name = "accuracy", .unit = "%", .higher_is_better = true},
         .validation = {{"loss", 1.0}, {"accuracy", validation}},
         .test = {{"loss", 1.0}, {"accuracy", test}},
         .epochs = 4,
         .seconds = 12.5,
         .parameters = 1000});
  };
  fs::create_directories(folder);
  write_file_atomically(folder / "sweep.yaml", kSweep);
  write_file_atomically(folder / "recipe.yaml", "model: {name: vit_ti16}\n");
  run("model.embed=8,train.optimizer.kind=sgd,seed=1", 0.5, 0.4);
  run("model.embed=32,train.optimizer.kind=adamw,seed=2", 0.9,
      std::numeric_limits<double>::quiet_NaN());
  write_file_atomically(folder / "runs/model.embed=8,train.optimizer.kind=sgd,seed=2.failed",
                        "loss is not finite\n");
}

struct Sweeps {
  Sweeps() {
    make_sweep(folder / "sweeps/widths");
    make_sweep(folder / "runs/renamed");
    fs::create_directories(folder / "sweeps/empty");
  }
  test::TemporaryFolder folder;
  test::SmallServer server{{.runs = folder / "runs", .sweeps = folder / "sweeps"}};
};

}  // namespace

TEST(ServeSweeps, AreFoundInTheirFolderAndAmongTheRuns) {
  const Sweeps s;
  const auto sweeps = test::json_of(s.server.client().Get("/v1/sweeps"))["sweeps"];
  ASSERT_EQ(sweeps.size(), 2);
  EXPECT_EQ(sweeps[0]["name"], "renamed");
  EXPECT_EQ(sweeps[1]["name"], "widths");
  EXPECT_NEAR(sweeps[1]["modified"], std::time(nullptr), 60);
  // A sweep has a recipe.yaml too, and is no run for that.
  EXPECT_EQ(test::json_of(s.server.client().Get("/v1/runs"))["runs"].size(), 0);
  test::expect_error(s.server.client().Get("/v1/runs/renamed/recipe"), 404, "is not known");
}

TEST(ServeSweeps, GiveTheRunsThatAreMadeWithTheirSettings) {
  const Sweeps s;
  for (const std::string name : {"widths", "renamed"}) {
    const auto sweep = test::json_of(s.server.client().Get("/v1/sweeps/" + name));
    EXPECT_EQ(sweep["name"], name);
    EXPECT_EQ(sweep["varied"], nlohmann::json({"model.embed", "train.optimizer.kind"}));
    EXPECT_EQ(sweep["metric"]["name"], "accuracy");
    EXPECT_EQ(sweep["metric"]["higher_is_better"], true);
    EXPECT_EQ(sweep["planned"], 8);
    const auto& runs = sweep["runs"];
    ASSERT_EQ(runs.size(), 3);
    EXPECT_EQ(runs[0]["settings"],
              nlohmann::json({{"model.embed", "8"}, {"train.optimizer.kind", "sgd"}}));
    EXPECT_EQ(runs[0]["seed"], 1);
    EXPECT_EQ(runs[0]["state"], "over_budget");
    EXPECT_EQ(runs[0]["validation"], 0.5);
    EXPECT_EQ(runs[0]["test"], 0.4);
    EXPECT_EQ(runs[0]["seconds"], 12.5);
    EXPECT_EQ(runs[1]["state"], "failed");
    EXPECT_EQ(runs[1]["error"], "loss is not finite");
    EXPECT_FALSE(runs[1].contains("validation"));
    EXPECT_EQ(runs[2]["validation"], 0.9);
    EXPECT_TRUE(runs[2]["test"].is_null());
  }
}

TEST(ServeSweeps, ThatHaveNotBegunHaveNoMetric) {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "sweeps/new");
  write_file_atomically(folder / "sweeps/new/sweep.yaml", kSweep);
  const test::SmallServer s({.sweeps = folder / "sweeps"});
  const auto sweep = test::json_of(s.client().Get("/v1/sweeps/new"));
  EXPECT_TRUE(sweep["metric"].is_null());
  EXPECT_EQ(sweep["runs"].size(), 0);
  EXPECT_EQ(sweep["planned"], 8);
}

TEST(ServeSweeps, ThatAreUnknownOrOutsideAreNotFound) {
  const Sweeps s;
  make_sweep(s.folder / "outside");
  for (const auto* name : {"empty", "none", "..", "%2e%2e%2foutside", "..%2Foutside"})
    test::expect_error(s.server.client().Get(fmt::format("/v1/sweeps/{}", name)), 404, "");
}

}  // namespace vitrine::serve
