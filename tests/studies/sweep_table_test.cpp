#include "vitrine/studies/sweep_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

RunResult run(int64_t seed, RunEnd end, double accuracy, double loss, const std::string& folder) {
  return {.seed = seed,
          .end = end,
          .accuracy = accuracy,
          .loss = loss,
          .seconds = 1.5,
          .epochs = 10,
          .parameters = 1234,
          .bytes = 17400,
          .folder = folder};
}

SweepConfig config() {
  return parse_sweep(
      "name: s\nrecipe: r.yaml\nseeds: [1, 2]\nbudget: 60\nset: {embed: 8, kind: adam}\n"
      "one_at_a_time: {embed: [8, 16], layers: [2, 3]}\n",
      "s.yaml");
}

SweepResult result() {
  const auto shared = run(1, RunEnd::Reached, 1, 0.25, "a"),
             slow = run(2, RunEnd::OverBudget, 0.5, 0.75, "b");
  RunResult failed{.seed = 1, .error = "no \"room\", none", .folder = "c"};
  return {"s",
          {{{"embed", {{"embed", "8"}, {"kind", "adam"}}}, {shared, slow}},
           {{"embed", {{"embed", "16"}, {"kind", "adam"}}}, {failed}},
           {{"layers", {{"embed", "8"}, {"kind", "adam"}, {"layers", "2"}}}, {shared}}}};
}

}  // namespace

TEST(SweepTable, SpreadIsThatOfASampleWithoutFailures) {
  auto point = result().points[0];
  point.runs.push_back({.error = "failed"});
  const auto s = spread(point, &RunResult::accuracy);
  EXPECT_EQ(s.count, 2);
  EXPECT_DOUBLE_EQ(s.mean, 0.75);
  EXPECT_NEAR(s.std, 0.35355339, 1e-8);
  EXPECT_EQ(spread({}, &RunResult::loss).count, 0);
}

TEST(SweepTable, CsvHasEachRunOnceAndQuotes) {
  EXPECT_EQ(results_csv(result()),
            "embed,kind,layers,seed,end,accuracy,validation_accuracy,loss,epochs,seconds,parameters,bytes,error\n"
            "8,adam,,1,reached,1,0,0.25,10,1.500,1234,17400,\n"
            "8,adam,,2,over budget,0.5,0,0.75,10,1.500,1234,17400,\n"
            "16,adam,,1,failed,,,,,,,,\"no \"\"room\"\", none\"\n");
}

TEST(SweepTable, MarkdownHasARowPerPoint) {
  const auto text = results_markdown(result(), config(), "vitrine sweep s.yaml");
  EXPECT_TRUE(test::contains(text, "# s\n"));
  EXPECT_TRUE(test::contains(text, "Recipe `r.yaml`, seeds 1, 2, at most 60 s per run, 1 thread"));
  EXPECT_TRUE(test::contains(text, "Every run: `kind=adam`."));
  EXPECT_TRUE(test::contains(text, "Made by `vitrine sweep s.yaml`."));
  EXPECT_TRUE(test::contains(text, R"(
|  embed |   layers |                     runs |    accuracy % |            loss |   seconds | epochs | parameters | checkpoint KB |
| -----: | -------: | -----------------------: | ------------: | --------------: | --------: | -----: | ---------: | ------------: |
|  **8** | (recipe) | 1/2 exact, 1 over budget | 75.00 ± 35.36 | 0.5000 ± 0.3536 | 1.5 ± 0.0 |     10 |       1234 |          17.4 |
| **16** | (recipe) |      1 failed, 1 to come |             - |               - |         - |      - |          - |             - |
|      8 |    **2** |     1/2 exact, 1 to come |        100.00 |          0.2500 |       1.5 |     10 |       1234 |          17.4 |
)"));
}

TEST(SweepTable, LeavesOutAnAccuracyThatIsNotCounted) {
  const auto none = std::nan("");
  auto first = run(1, RunEnd::Reached, none, 0.25, "a"),
       second = run(2, RunEnd::Finished, none, 0.75, "b");
  first.validation_accuracy = second.validation_accuracy = none;
  const SweepResult waves{"s", {{{"embed", {{"embed", "8"}}}, {first, second}}}};
  EXPECT_TRUE(test::contains(results_csv(waves), "8,1,reached,,,0.25,10,1.500,1234,17400,\n"));
  EXPECT_TRUE(test::contains(results_markdown(waves, config(), ""),
                             "| 1/2 reached, 1 finished |          - | 0.5000 ± 0.3536 |"));
  EXPECT_EQ(run_note({"embed", {{"embed", "8"}}}, {"embed"}, first),
            "embed=8 seed 1: reached in 1.5 s");
  EXPECT_EQ(run_note({"embed", {{"embed", "8"}}}, {"embed"}, second),
            "embed=8 seed 2: loss 0.75 in 1.5 s");
}

TEST(SweepTable, NotesSayWhatARunCameTo) {
  const std::vector<std::string> varied = {"model.embed", "model.layers"};
  const SweepPoint point{"", {{"model.embed", "8"}, {"model.layers", "2"}}};
  EXPECT_EQ(run_note(point, varied, run(2, RunEnd::Reached, 1, 0, "")),
            "embed=8 layers=2 seed 2: exact in 1.5 s");
  EXPECT_EQ(
      run_note({"model.layers", point.settings}, varied, run(2, RunEnd::OverBudget, 0.5, 0, "")),
      "layers=2 seed 2: over budget, 50.00 %");
  EXPECT_EQ(run_note(point, varied, run(1, RunEnd::Finished, 0.5, 0, "")),
            "embed=8 layers=2 seed 1: 50.00 % in 1.5 s");
  EXPECT_EQ(run_note(point, varied, {.seed = 1}), "embed=8 layers=2 seed 1: failed");
}

}  // namespace vitrine
