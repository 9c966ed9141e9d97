#include "vitrine/studies/sweep_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace vitrine {
namespace {

SweepConfig sweep(const std::string& more) {
  return parse_sweep("name: s\nrecipe: r.yaml\n" + more, "s.yaml");
}

std::vector<std::string> names(const SweepConfig& config) {
  std::vector<std::string> all;
  for (const auto& point : sweep_points(config))
    all.push_back(run_name(point, varied_keys(config), 1));
  return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST(SweepPlan, VariesOneAtATime) {
  const auto config = sweep("set: {b: 5, c: 9, a: 1}\none_at_a_time: {b: [5, 6], a: [1, 2]}\n");
  EXPECT_EQ(names(config),
            (Names{"a=1,b=5,seed=1", "a=1,b=6,seed=1", "a=1,b=5,seed=1", "a=2,b=5,seed=1"}));
  const auto points = sweep_points(config);
  EXPECT_EQ(points[1].axis, "b");
  EXPECT_EQ(points[3].axis, "a");
  EXPECT_EQ(points[3].value("c"), "9");
  EXPECT_EQ(points[3].value("nothing"), "");
}

TEST(SweepPlan, MakesGridsAndListsAndJoinsThem) {
  EXPECT_EQ(names(sweep("grid: {a: [1, 2], b: [3, 4]}\n")),
            (Names{"a=1,b=3,seed=1", "a=1,b=4,seed=1", "a=2,b=3,seed=1", "a=2,b=4,seed=1"}));
  EXPECT_EQ(names(sweep("list: {a: [1, 2], b: [3, 4]}\n")),
            (Names{"a=1,b=3,seed=1", "a=2,b=4,seed=1"}));
  EXPECT_EQ(names(sweep("list: {a: [1]}\ngrid: {b: [2]}\none_at_a_time: {c: [3]}\n")),
            (Names{"c=3,seed=1", "b=2,seed=1", "a=1,seed=1"}));
}

TEST(SweepPlan, NamesOfRunsAreSafeAndStayApart) {
  const auto name = [](const std::string& value) {
    return run_name({"", {{"a", value}}}, {"a"}, 1);
  };
  EXPECT_EQ(name("3e-4").find("a=3e-4,seed=1"), 0u);
  EXPECT_NE(name("x/y"), name("x_y"));
  EXPECT_NE(name("1,b=2"), run_name({"", {{"a", "1"}, {"b", "2"}}}, {"a", "b"}, 1));
  EXPECT_EQ(name("../x").find('/'), std::string::npos);
  const auto longer = std::string(300, 'x');
  EXPECT_LT(name(longer).size(), 200u);
  EXPECT_NE(name(longer), name(longer + "y"));
}

TEST(SweepPlan, OverridesHoldSettingsSeedAndBudget) {
  const auto config = sweep("set: {b: 5}\ngrid: {a: ['[1, 2]']}\n");
  const auto point = sweep_points(config)[0];
  EXPECT_EQ(run_overrides(point, 3, 0), (Names{"b=5", "a=[1, 2]", "seed=3"}));
  EXPECT_EQ(run_overrides(point, 3, 2.5),
            (Names{"b=5", "a=[1, 2]", "seed=3", "train.budget_seconds=2.5"}));
}

TEST(SweepPlan, KeepsTheBestLearningRateOfEachPointByTheValidationSplit) {
  struct Try {
    std::optional<StopReason> reason;  // none: it failed
    double accuracy, loss;             // on the validation split
    int64_t epochs = 1;
    double test_accuracy = 0.5, test_loss = 0.5;
  };
  const auto best = [](const Names& rates, const std::vector<Try>& tries,
                       const Metric& metric = {.name = "accuracy", .higher_is_better = true}) {
    auto points = with_learning_rates({{"", {{"a", "1"}}}}, rates);
    SweepResult search{"s", {}};
    for (size_t i = 0; i < tries.size(); ++i) {
      const auto& t = tries[i];
      SweepRun run;
      if (t.reason)
        run.outcome = RunOutcome{.stop_reason = *t.reason,
                                 .selection_metric = metric,
                                 .validation = {{"loss", t.loss}, {"accuracy", t.accuracy}},
                                 .test = {{"loss", t.test_loss}, {"accuracy", t.test_accuracy}},
                                 .epochs = t.epochs};
      search.points.push_back({points[i], {run}});
    }
    const auto kept = best_tries(search, rates.size());
    EXPECT_EQ(kept.size(), 1u);
    return kept[0].value(kLearningRateKey);
  };
  const auto R = StopReason::ReachedGoal, F = StopReason::Finished;
  const std::optional<StopReason> X;
  EXPECT_EQ(best({"1", "2", "3"}, {{F, 0.9, 0, 1}, {R, 1, 0, 9}, {R, 1, 0, 8}}), "3");
  EXPECT_EQ(best({"1", "2", "3"}, {{F, 0.9, 0, 1}, {F, 0.95, 3, 9}, {X, 0, 0, 0}}), "2");
  EXPECT_EQ(best({"1", "2"}, {{F, 0.9, 0.3}, {F, 0.9, 0.2}}), "2");
  EXPECT_EQ(best({"1", "2"}, {{F, 0.9, std::nan("")}, {F, 0.9, 0.2}}), "2");
  EXPECT_EQ(best({"1e-2", "9e-3"}, {{F, 0.9, 0.2}, {F, 0.9, 0.2}}), "9e-3");
  EXPECT_EQ(best({"1e-2", "9e-3"}, {{X, 0, 0}, {X, 0, 0}}), "9e-3");
  // What the test split says decides nothing.
  EXPECT_EQ(best({"1e-2", "3e-3"}, {{F, 0.263, 1.9, 1, 0.368, 1}, {F, 0.3, 2, 1, 0.1, 9}}), "3e-3");
  EXPECT_EQ(best({"1", "2"}, {{F, 0.9, 0.3, 1, 1, 0}, {F, 0.9, 0.2, 1, 0, 9}}), "2");
  // Tasks whose selection metric is the lower the better.
  const Metric loss{.name = "loss"};
  EXPECT_EQ(best({"1", "2", "3"}, {{F, 0, 0.3}, {F, 0, 0.1}, {F, 0, 0.2}}, loss), "2");
}

}  // namespace vitrine
