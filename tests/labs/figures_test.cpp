// What the figures of the labs must not do, with numbers made up for the test.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/support/temporary_folder.h"
#include "vitrine/labs/positions/figures.h"
#include "vitrine/labs/sequences/figures.h"

namespace vitrine::labs {
namespace {

/// A bar's length means its value only where the axis has a zero.
void expect_no_bars_on_log_axes(const plot::Figure& figure) {
  for (const auto& panel : figure.panels) {
    const auto* chart = std::get_if<plot::Chart>(&panel);
    if (chart == nullptr || !chart->y.log) continue;
    for (const auto& series : chart->series)
      EXPECT_NE(series.mark, plot::Mark::Bars) << chart->title;
  }
}

/// A lesson whose texts the figures take.
class LabFigures : public testing::Test {
 protected:
  Lesson lesson(const std::string& topic) { return {texts_, topic, folder_.path(), terminal_}; }

 private:
  const test::TemporaryFolder folder_;
  const Translations texts_{lab_texts(), "en"};
  std::ostringstream terminal_;
};

}  // namespace

TEST_F(LabFigures, ChangesByOrderHaveNoBars) {
  const plot::Matrix outputs{1, 8, std::vector<double>(8)};
  const std::vector<positions::OrderEffect> effects = {
      {.kind = "none", .sentence = outputs, .reversed = outputs, .word_change = 1e-16},
      {.kind = "sinusoidal", .sentence = outputs, .reversed = outputs, .word_change = 1}};
  const positions::TrainedPositions trained{.lengths = {20},
                                            .kinds = {{.kind = "none", .errors = {{0.1}}}}};
  expect_no_bars_on_log_axes(
      positions::position_effect_figure(lesson("lab3"), effects, {"word"}, trained));
}

TEST_F(LabFigures, ErrorsOfNetworksHaveNoBars) {
  sequences::SequenceNumbers numbers;
  for (const auto network : sequences::kWaveNetworks)
    numbers.networks.push_back({.network = network, .score = {.error = {0.01, 0.001}}});
  expect_no_bars_on_log_axes(
      sequences::performance_figure(lesson("lab5"), numbers, {.extrapolation = 0.1}));
}

}  // namespace vitrine::labs
