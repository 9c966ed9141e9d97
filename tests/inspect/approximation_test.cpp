#include "vitrine/inspect/approximation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "vitrine/inspect/pattern_figure.h"

namespace vitrine {
namespace {

/// The slope of a curve between its first point and point `last`, on logarithmic axes.
double slope(const ApproximationCurve& c, size_t last) {
  return std::log(c.error[last] / c.error[0]) / std::log(c.setting[last] / c.setting[0]);
}

}  // namespace

TEST(Approximation, EveryLayerErrsLessTheMoreItIsGiven) {
  const auto curves = approximation_errors(/*tokens=*/128, /*seed=*/1);
  ASSERT_EQ(curves.size(), 4u);
  const auto &orthogonal = curves[0], &independent = curves[1], &linformer = curves[2],
             &reformer = curves[3];
  EXPECT_NEAR(slope(orthogonal, 6), -0.5, 0.1);
  EXPECT_NEAR(slope(independent, 6), -0.5, 0.1);
  double ratio = 0;
  for (size_t i = 0; i < 7; ++i) ratio += orthogonal.error[i] / independent.error[i] / 7;
  EXPECT_LT(ratio, 0.97);
  EXPECT_EQ(linformer.setting, (std::vector<double>{16, 32, 64, 128}));
  EXPECT_LT(slope(linformer, 2), -1);
  EXPECT_LT(linformer.error.back(), 1e-5);
  EXPECT_EQ(reformer.setting, (std::vector<double>{1, 2, 4, 8, 16}));
  for (size_t i = 1; i < reformer.error.size(); ++i)
    EXPECT_LT(reformer.error[i], reformer.error[i - 1]);
}

TEST(Approximation, TheSeedDecidesTheCurves) {
  const auto errors = [](uint64_t seed) { return approximation_errors(64, seed)[3].error; };
  const auto first = errors(3);
  EXPECT_EQ(errors(3), first);
  EXPECT_NE(errors(4), first);
}

TEST(Approximation, TheFigureHasAChartPerLayer) {
  const std::vector<ApproximationCurve> curves = {
      {"Performer", "orthogonal", "random features", {16, 64}, {0.4, 0.2}},
      {"Performer", "independent", "random features", {16, 64}, {0.5, 0.3}},
      {"Reformer", "", "rounds", {1, 2}, {0.5, 0.3}}};
  const auto figure = approximation_figure(curves, 128);
  ASSERT_EQ(figure.panels.size(), 2u);
  const auto& performer = std::get<plot::Chart>(figure.panels[0]);
  ASSERT_EQ(performer.series.size(), 3u);
  EXPECT_EQ(performer.series[2].y, (std::vector<double>{0.4, 0.2}));  // 1 / sqrt
  EXPECT_EQ(std::get<plot::Chart>(figure.panels[1]).series.size(), 1u);
}

TEST(Approximation, RefusesTooFewOrTooManyTokens) {
  EXPECT_TRUE(test::contains(test::error_of([] { approximation_errors(10, 1); }),
                             "approximation: n 10 is not between 64 and 4096"));
}

TEST(Approximation, ThePointWithoutErrorIsShownAtTheFloorOfTheAxis) {
  const auto figure = approximation_figure(
      {{"Linformer", "", "projected length k", {16, 32, 64}, {0.4, 0.1, 0}}}, 64);
  const auto& chart = std::get<plot::Chart>(figure.panels.at(0));
  ASSERT_EQ(chart.series.size(), 2u);
  const auto& exact = chart.series[1];
  EXPECT_EQ(exact.x, (std::vector<double>{64}));
  EXPECT_GT(exact.y.at(0), 0);
  EXPECT_LT(exact.y.at(0), 0.1);
  EXPECT_EQ(exact.mark, plot::Mark::Points);
  EXPECT_TRUE(test::contains(exact.name, "error 0"));
  EXPECT_TRUE(test::contains(figure.note, "lower edge"));
}

TEST(PatternFigure, NamesItsColoursInALegend) {
  const AttentionPattern strided{.kind = PatternKind::Strided, .stride = 4};
  const auto figure = pattern_figure(strided, 16);
  EXPECT_EQ(figure.title.find("dark"), std::string::npos);
  std::vector<std::string> names;
  for (const auto& swatch : figure.legend) names.push_back(swatch.name);
  EXPECT_EQ(names, (std::vector<std::string>{"window", "stride", "the token itself", "not attended",
                                             "later token (causal mask)"}));
}

}  // namespace vitrine
