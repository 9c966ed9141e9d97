#include "vitrine/studies/sweep_figure.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace vitrine {
namespace {

using Values = std::vector<double>;

/// A run with this accuracy on the test split and a tenth less on the validation split.
SweepRun run(double accuracy, const Metric& metric) {
  return {.seed = 1,
          .outcome = RunOutcome{.selection_metric = metric,
                                .validation = {{metric.name, accuracy - 0.1}},
                                .test = {{metric.name, accuracy}}}};
}

const Metric kAccuracy{.name = "accuracy", .unit = "%", .higher_is_better = true};

PointResult point(const std::string& axis, const std::vector<Setting>& settings,
                  const std::vector<double>& accuracies, const Metric& metric = kAccuracy) {
  PointResult result{{axis, settings}, {}};
  for (const double accuracy : accuracies) result.runs.push_back(run(accuracy, metric));
  return result;
}

SweepConfig config(const std::string& axes) {
  return parse_sweep("name: s\nrecipe: r.yaml\nseeds: [1, 2]\n" + axes, "s.yaml");
}

const plot::Chart& panel(const plot::Figure& figure, size_t i) {
  return std::get<plot::Chart>(figure.panels.at(i));
}

void expect_near(const Values& values, const Values& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-9);
}

}  // namespace

TEST(SweepFigure, HasAPanelPerKeyWithBothSplitsSeedsMeanAndSpread) {
  SweepResult result{
      "s",
      {point("embed", {{"embed", "64"}}, {0.9, 0.7}), point("embed", {{"embed", "8"}}, {0.5, 0.6}),
       point("layers", {{"layers", "2"}}, {0.8, 0.8})}};
  result.points[2].runs[1] = {.seed = 2, .error = "no memory"};
  const auto figure =
      sweep_figure(result, config("one_at_a_time: {embed: [64, 8], layers: [2, 3]}\n"));
  EXPECT_EQ(figure.title, "s (1 of 6 runs failed)");
  ASSERT_EQ(figure.panels.size(), 2u);
  const auto& chart = panel(figure, 0);
  EXPECT_EQ(chart.x.label, "embed");
  EXPECT_EQ(chart.y.label, "accuracy %");
  EXPECT_FALSE(chart.x.log);
  ASSERT_EQ(chart.series.size(), 4u);
  EXPECT_EQ(chart.series[0].name, "validation");
  EXPECT_EQ(chart.series[2].name, "test");
  expect_near(chart.series[2].x, {8, 64});  // by value, not in the file's order
  expect_near(chart.series[2].y, {55, 80});
  expect_near(chart.series[2].error, {std::sqrt(50.0), std::sqrt(200.0)});
  expect_near(chart.series[3].x, {8, 8, 64, 64});
  expect_near(chart.series[3].y, {50, 60, 90, 70});
  expect_near(chart.series[0].y, {45, 70});
  EXPECT_EQ(chart.series[3].mark, plot::Mark::Points);
  expect_near(panel(figure, 1).series[2].y, {80});
  EXPECT_TRUE(panel(figure, 1).series[2].error.empty());
}

TEST(SweepFigure, GridsHaveALinePerCombinationAndNamesWhereValuesAreNone) {
  SweepResult result{"s", {}};
  for (const auto* kind : {"sgd", "adam"})
    for (const auto* rate : {"1e-4", "1e-2"})
      result.points.push_back(point("", {{"opt.kind", kind}, {"opt.lr", rate}}, {0.5}));
  const auto figure =
      sweep_figure(result, config("grid: {opt.kind: [sgd, adam], opt.lr: [1e-4, 1e-2]}\n"));
  ASSERT_EQ(figure.panels.size(), 2u);
  EXPECT_EQ(panel(figure, 0).x.names, (std::vector<std::string>{"sgd", "adam"}));
  EXPECT_EQ(panel(figure, 0).series[0].name, "lr=1e-4, validation");
  expect_near(panel(figure, 0).series[0].x, {0, 1});
  EXPECT_TRUE(panel(figure, 1).x.log);
  EXPECT_EQ(panel(figure, 1).series[2].name, "kind=sgd, test");
  EXPECT_NE(panel(figure, 1).series[0].color, panel(figure, 1).series[4].color);
}

TEST(SweepFigure, SettingsThatChangeTogetherShareOneLine) {
  const SweepResult result{
      "s",
      {point("", {{"a", "1"}, {"b", "3"}}, {0.5}), point("", {{"a", "2"}, {"b", "4"}}, {0.6}),
       point("", {{"a", "2"}, {"b", "5"}}, {0.8})}};
  const auto figure = sweep_figure(result, config("list: {a: [1, 2, 2], b: [3, 4, 5]}\n"));
  const auto& chart = panel(figure, 0);
  ASSERT_EQ(chart.series.size(), 4u);
  expect_near(chart.series[2].x, {1, 2});
  expect_near(chart.series[2].y, {50, 70});
}

TEST(SweepFigure, ASearchedLearningRateIsNoAxisAndALogMetricHasNoBand) {
  const Metric mse{.name = "mse", .log_scale = true};
  const SweepResult result{"s",
                           {point("a", {{"a", "1"}, {kLearningRateKey, "0.1"}}, {0.5, 0.6}, mse)}};
  const auto figure =
      sweep_figure(result, config("one_at_a_time: {a: [1]}\nlearning_rates: [0.1, 0.2]\n"));
  ASSERT_EQ(figure.panels.size(), 1u);
  EXPECT_TRUE(panel(figure, 0).y.log);
  EXPECT_TRUE(panel(figure, 0).series[2].error.empty());
}

TEST(SweepFigure, IsEmptyWithoutResults) {
  const SweepResult result{"s", {{{"a", {{"a", "1"}}}, {{.seed = 1, .error = "no"}}}}};
  EXPECT_TRUE(sweep_figure(result, config("one_at_a_time: {a: [1]}\n")).panels.empty());
}

TEST(SweepFigure, SettingsMustBeNumbersWhereNumbersAreNeeded) {
  EXPECT_EQ(setting_number({"", {{"a", "8e-3"}}}, "a"), 8e-3);
  EXPECT_TRUE(test::contains(test::error_of([] {
                               setting_number({"", {{"a", "many"}}}, "a");
                             }),
                             "a = 'many', which is not a number"));
}

}  // namespace vitrine
