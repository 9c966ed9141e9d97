#include "vitrine/studies/sweep_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

const Metric kAccuracy{.name = "accuracy", .unit = "%", .higher_is_better = true};
const Metric kMse{.name = "mse", .log_scale = true};

/// A run that came to `value` on the test split and half of it on the validation split.
SweepRun run(int64_t seed, StopReason reason, const Metric& metric, double value, double loss,
             const std::string& folder) {
  const bool exact = value == 1;
  return {.seed = seed,
          .outcome =
              RunOutcome{.stop_reason = reason,
                         .selection_metric = metric,
                         .validation = {{"loss", 2 * loss}, {metric.name, exact ? 1 : value / 2}},
                         .test = {{"loss", loss}, {metric.name, value}},
                         .epochs = 10,
                         .seconds = 1.5,
                         .parameters = 1234,
                         .checkpoint_bytes = 17400},
          .folder = folder};
}

SweepConfig config() {
  return parse_sweep(
      "name: s\nrecipe: r.yaml\nseeds: [1, 2]\nbudget: 60\nset: {embed: 8, kind: adam}\n"
      "one_at_a_time: {embed: [8, 16], layers: [2, 3]}\n",
      "s.yaml");
}

SweepResult result() {
  const auto shared = run(1, StopReason::ReachedGoal, kAccuracy, 1, 0.25, "a"),
             slow = run(2, StopReason::OverBudget, kAccuracy, 0.5, 0.75, "b");
  const SweepRun failed{.seed = 1, .error = "no \"room\", none", .folder = "c"};
  return {"s",
          {{{"embed", {{"embed", "8"}, {"kind", "adam"}}}, {shared, slow}},
           {{"embed", {{"embed", "16"}, {"kind", "adam"}}}, {failed}},
           {{"layers", {{"embed", "8"}, {"kind", "adam"}, {"layers", "2"}}}, {shared}}}};
}

}  // namespace

TEST(SweepTable, SpreadIsThatOfASampleWithoutFailures) {
  auto point = result().points[0];
  point.runs.push_back({.error = "failed"});
  const auto s = mean_std(point, test_figure);
  EXPECT_EQ(s.count, 2);
  EXPECT_DOUBLE_EQ(s.mean, 0.75);
  EXPECT_NEAR(s.std, 0.35355339, 1e-8);
  EXPECT_EQ(mean_std({}, test_loss_figure).count, 0);
}

TEST(SweepTable, CsvHasEachRunOnceAndQuotes) {
  EXPECT_EQ(results_csv(result()),
            "embed,kind,layers,seed,stop_reason,test_loss,test_accuracy,validation_loss,"
            "validation_accuracy,epochs,seconds,parameters,bytes,error\n"
            "8,adam,,1,reached_goal,0.25,1,0.5,1,10,1.500,1234,17400,\n"
            "8,adam,,2,over_budget,0.75,0.5,1.5,0.25,10,1.500,1234,17400,\n"
            "16,adam,,1,failed,,,,,,,,,\"no \"\"room\"\", none\"\n");
}

TEST(SweepTable, MarkdownHasARowPerPointAndNamesTheSplitOfEachFigure) {
  const auto text = results_markdown(result(), config(), "vitrine sweep s.yaml");
  EXPECT_TRUE(test::contains(text, "# s\n"));
  EXPECT_TRUE(test::contains(text, "Recipe `r.yaml`, seeds 1, 2, at most 60 s per run, 1 thread"));
  EXPECT_TRUE(test::contains(text, "Every run: `kind=adam`."));
  EXPECT_TRUE(test::contains(text, "Made by `vitrine sweep s.yaml`."));
  EXPECT_TRUE(test::contains(text, R"(
|  embed |   layers |                     runs | test accuracy % |       test loss | validation accuracy % |   seconds | epochs | parameters | checkpoint KB |
| -----: | -------: | -----------------------: | --------------: | --------------: | --------------------: | --------: | -----: | ---------: | ------------: |
|  **8** | (recipe) | 1/2 exact, 1 over budget |   75.00 ± 35.36 | 0.5000 ± 0.3536 |         62.50 ± 53.03 | 1.5 ± 0.0 |     10 |       1234 |          17.4 |
| **16** | (recipe) |      1 failed, 1 to come |               - |               - |                     - |         - |      - |          - |             - |
|      8 |    **2** |     1/2 exact, 1 to come |          100.00 |          0.2500 |                100.00 |       1.5 |     10 |       1234 |          17.4 |
)"));
}

TEST(SweepTable, ShowsAMetricThatIsTheLossOnce) {
  const auto first = run(1, StopReason::ReachedGoal, kMse, 0.25, 0.25, "a"),
             second = run(2, StopReason::StoppedEarly, kMse, 0.75, 0.75, "b");
  const SweepResult waves{"s", {{{"embed", {{"embed", "8"}}}, {first, second}}}};
  EXPECT_TRUE(test::contains(results_csv(waves),
                             "8,1,reached_goal,0.25,0.25,0.5,0.125,10,1.500,1234,17400,\n"));
  const auto text = results_markdown(waves, config(), "");
  EXPECT_TRUE(test::contains(text, "| 1/2 reached, 1 finished | 0.5000 ± 0.3536 |"));
  EXPECT_TRUE(test::contains(text, "|        test mse |  validation mse |"));
  EXPECT_EQ(text.find("test loss"), std::string::npos);
  EXPECT_EQ(run_note({"embed", {{"embed", "8"}}}, {"embed"}, first),
            "embed=8 seed 1: reached in 1.5 s");
  EXPECT_EQ(run_note({"embed", {{"embed", "8"}}}, {"embed"}, second),
            "embed=8 seed 2: validation mse 0.3750 in 1.5 s");
}

TEST(SweepTable, NotesSayWhatARunCameTo) {
  const std::vector<std::string> varied = {"model.embed", "model.layers"};
  const SweepPoint point{"", {{"model.embed", "8"}, {"model.layers", "2"}}};
  EXPECT_EQ(run_note(point, varied, run(2, StopReason::ReachedGoal, kAccuracy, 1, 0, "")),
            "embed=8 layers=2 seed 2: exact in 1.5 s");
  EXPECT_EQ(run_note({"model.layers", point.settings}, varied,
                     run(2, StopReason::OverBudget, kAccuracy, 0.5, 0, "")),
            "layers=2 seed 2: over budget, validation accuracy 25.00 %");
  EXPECT_EQ(run_note(point, varied, run(1, StopReason::Finished, kAccuracy, 0.5, 0, "")),
            "embed=8 layers=2 seed 1: validation accuracy 25.00 % in 1.5 s");
  EXPECT_EQ(run_note(point, varied, {.seed = 1}), "embed=8 layers=2 seed 1: failed");
}

}  // namespace vitrine
