#include <algorithm>
#include <cmath>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/studies/addition/figures.h"

namespace vitrine {
namespace {

using plot::Chart;
using plot::Figure;
using plot::Mark;
using plot::Series;

constexpr int kDarkest = 20;   // a lost carry, 10, keeps a colour beside deviations of 90
constexpr int kNumbers = 100;  // 00 .. 99
constexpr double kErrorMapSize = 700, kEmptyMapSize = 300;  // both let heat maps name every tenth
constexpr size_t kShownDeviations = 8;                      // per network

/// Names for every tenth row or column of the error map.
std::vector<std::string> tens() {
  std::vector<std::string> names(kNumbers);
  for (int n = 0; n < kNumbers; n += 10) names[n] = fmt::format("{:02}", n);
  return names;
}

int64_t wrong_answers(const AdditionAnswers& answers) {
  return kAdditionPairs - right_answers(answers);
}

/// The largest deviation of any answer, to either side.
int largest_deviation(const AnswersOfBoth& answers) {
  int largest = 0;
  for (const auto architecture : kArchitectures)
    for (const auto& some : answers.of(architecture))
      for (const int deviation : deviations(some)) largest = std::max(largest, std::abs(deviation));
  return largest;
}

Chart box_chart(const AnswersOfBoth& answers, bool only_wrong, const FigureWords& w) {
  const double reach = 1.1 * std::max(1, largest_deviation(answers));
  Chart chart{.title = only_wrong ? w.wrong_answers : w.all_answers,
              .y = {.label = w.deviation, .low = -reach, .high = reach},
              .width = 360,
              .height = 320};
  for (const auto architecture : kArchitectures) {
    Series box{.name = w.architecture.of(architecture),
               .mark = Mark::Box,
               .color = architecture_color(architecture)};
    for (const auto& some : answers.of(architecture))
      for (const int deviation : deviations(some))
        if (!only_wrong || deviation != 0) box.y.push_back(deviation);
    if (!box.y.empty()) chart.series.push_back(std::move(box));
  }
  return chart;
}

/// The values to show: a lost and an invented carry, and the most frequent ones of each network.
std::vector<int> shown_deviations(const AnswersOfBoth& answers) {
  std::set<int> values = {-10, 10};
  for (const auto architecture : kArchitectures)
    for (const auto& top : top_deviations(answers.of(architecture), kShownDeviations))
      values.insert(top.value);
  return {values.begin(), values.end()};
}

double count_per_run(const std::vector<AdditionAnswers>& runs, int deviation) {
  int64_t count = 0;
  for (const auto& run : runs) {
    const auto all = deviations(run);
    count += std::count(all.begin(), all.end(), deviation);
  }
  return static_cast<double>(count) / static_cast<double>(runs.size());
}

/// Mean and standard deviation (of a sample) over the runs of 100 * (1 - accuracy), per place.
Series wrong_bars(const std::vector<AdditionAnswers>& runs,
                  std::array<double, 3> (*accuracy)(const AdditionAnswers&)) {
  Series bars{.mark = Mark::Bars};
  for (size_t place = 0; place < 3; ++place) {
    std::vector<double> wrong;
    for (const auto& run : runs) wrong.push_back(100 * (1 - accuracy(run)[place]));
    const auto s = mean_std(wrong);
    bars.y.push_back(s.mean);
    if (s.count > 1) bars.error.push_back(s.std);
  }
  return bars;
}

Chart kinds_chart(const AnswersOfBoth& answers, const std::string& title,
                  const std::array<std::string, 3>& names,
                  std::array<double, 3> (*accuracy)(const AdditionAnswers&), const FigureWords& w) {
  Chart chart{.title = title,
              .x = {.names = {names.begin(), names.end()}},
              .y = {.label = w.wrong_share, .low = 0},
              .width = 340,
              .height = 260};
  for (const auto architecture : kArchitectures) {
    if (answers.of(architecture).empty()) continue;
    auto bars = wrong_bars(answers.of(architecture), accuracy);
    bars.name = w.architecture.of(architecture);
    bars.color = architecture_color(architecture);
    chart.series.push_back(std::move(bars));
  }
  return chart;
}

}  // namespace

bool any_wrong(const AnswersOfBoth& answers) {
  return std::any_of(kArchitectures.begin(), kArchitectures.end(),
                     [&](AdditionArchitecture architecture) {
                       return !top_deviations(answers.of(architecture), 1).empty();
                     });
}

Figure error_map_figure(const AdditionAnswers& answers, AdditionArchitecture architecture,
                        Language language) {
  const auto& w = figure_words(language);
  const auto wrong = wrong_answers(answers);
  const auto all = deviations(answers);
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  const int largest = std::max(-*least, *most), darkest = std::clamp(largest, 1, kDarkest);
  plot::HeatMap map{
      .title = wrong == 0 ? w.no_error : filled(w.some_errors, with_commas(wrong)),
      .values = {kNumbers, kNumbers, {all.begin(), all.end()}},
      .row_names = tens(),
      .column_names = tens(),
      .x_label = w.second_number,
      .y_label = w.first_number,
      .colors = plot::ColorMap::BlueRed,
      .low = -darkest,
      .high = darkest,
      .color_bar = wrong > 0,
      .color_label = largest > darkest ? filled(w.far_deviation, darkest) : w.deviation,
      .size = wrong > 0 ? kErrorMapSize : kEmptyMapSize};
  return {.title = filled(w.error_map, w.architecture.of(architecture)), .panels = {map}};
}

Figure deviation_box_figure(const AnswersOfBoth& answers, Language language) {
  const auto& w = figure_words(language);
  const bool wrong = any_wrong(answers);
  Figure figure{.title = wrong ? w.box_title : fmt::format("{}: {}", w.box_title, w.no_error),
                .columns = 2};
  figure.panels.push_back(box_chart(answers, /*only_wrong=*/false, w));
  if (wrong) figure.panels.push_back(box_chart(answers, /*only_wrong=*/true, w));
  return figure;
}

Figure top_deviations_figure(const AnswersOfBoth& answers, Language language) {
  const auto& w = figure_words(language);
  check(any_wrong(answers), "addition: no answer is wrong, so there are no deviations to draw");
  const auto values = shown_deviations(answers);
  Chart chart{.x = {.label = w.deviation}, .y = {.label = w.answers_per_run}, .width = 560};
  for (const int value : values)
    chart.x.names.push_back(fmt::format("{}{}", value < 0 ? "−" : "+", std::abs(value)));
  for (const auto architecture : kArchitectures) {
    if (answers.of(architecture).empty()) continue;
    Series bars{.name = w.architecture.of(architecture),
                .mark = Mark::Bars,
                .color = architecture_color(architecture)};
    for (const int value : values) bars.y.push_back(count_per_run(answers.of(architecture), value));
    chart.series.push_back(std::move(bars));
  }
  return {.title = w.top_title, .panels = {chart}};
}

Figure error_kinds_figure(const AnswersOfBoth& answers, Language language) {
  check(any_wrong(answers), "addition: no answer is wrong, so there are no kinds of errors");
  const auto& w = figure_words(language);
  return {.title = w.kinds_title,
          .columns = 2,
          .panels = {kinds_chart(answers, w.by_carries, w.carries, accuracy_by_carries, w),
                     kinds_chart(answers, w.by_digit, w.digits, accuracy_by_digit, w)}};
}

}  // namespace vitrine
