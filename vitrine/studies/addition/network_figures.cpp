#include "vitrine/studies/addition/figures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "vitrine/core/error.h"

namespace vitrine::addition {
namespace {

using namespace fmt::literals;
using plot::Chart;
using plot::Figure;
using plot::Mark;
using plot::Series;

constexpr int kDarkest = 20;   // a lost carry, 10, keeps a colour beside errors of 90
constexpr int kNumbers = 100;  // 00 .. 99
constexpr double kErrorMapSize = 700, kEmptyMapSize = 300;  // both let heat maps name every tenth
constexpr size_t kShownErrors = 8;                          // per network

/// A chart with a series for each network that has answers: what `make` gives of them.
template <typename Make>
Chart chart_of_both(Chart chart, Mark mark, const AnswersOfBoth& answers, const Translations& t,
                    const Make& make) {
  for (const auto network : kArchitectures) {
    if (answers.of(network).empty()) continue;
    Series series{.name = t.at(name_of(network)), .mark = mark, .color = color_of(network)};
    make(answers.of(network), series);
    if (!series.y.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

/// The largest error of any answer, to either side.
int largest_error(const AnswersOfBoth& answers) {
  int largest = 0;
  for (const auto network : kArchitectures)
    for (const auto& run : answers.of(network))
      for (const int error : errors(run)) largest = std::max(largest, std::abs(error));
  return largest;
}

Chart box_chart(const AnswersOfBoth& answers, bool only_wrong, const Translations& t) {
  const double reach = 1.1 * std::max(1, largest_error(answers));
  return chart_of_both({.title = t.at(only_wrong ? "errors.box.wrong" : "errors.box.all"),
                        .y = {.label = t.at("errors.error"), .low = -reach, .high = reach},
                        .width = 360,
                        .height = 320},
                       Mark::Box, answers, t, [&](const auto& runs, Series& box) {
                         for (const auto& run : runs)
                           for (const int error : errors(run))
                             if (!only_wrong || error != 0) box.y.push_back(error);
                       });
}

Chart kinds_chart(const AnswersOfBoth& answers, const std::string& title, const std::string& names,
                  Accuracies (*accuracy)(const AdditionAnswers&), const Translations& t) {
  return chart_of_both({.title = t.at(title),
                        .x = {.names = t.list(names)},
                        .y = {.label = t.at("errors.kinds.wrong"), .low = 0},
                        .width = 340,
                        .height = 260},
                       Mark::Bars, answers, t, [&](const auto& runs, Series& bars) {
                         for (const auto& wrong : wrong_percent(runs, accuracy)) {
                           bars.y.push_back(wrong.mean);
                           if (wrong.count > 1) bars.error.push_back(wrong.std);
                         }
                       });
}

void check_any_wrong(const AnswersOfBoth& answers) {
  check(any_wrong(answers), "addition: no answer is wrong, so there are no errors to draw");
}

/// The epochs of a run over epochs or seconds, subsampled evenly on a log axis.
Series loss_series(const std::vector<MetricsLine>& run, bool by_seconds) {
  constexpr double kGrowth = 1.02;  // from one drawn epoch to the next
  Series series;
  double next = 0;
  for (const auto& line : run) {
    const double loss = line.value("train_loss");
    if (line.kind != "epoch" || line.epoch < next || !std::isfinite(loss)) continue;
    series.x.push_back(by_seconds ? line.value("seconds") : static_cast<double>(line.epoch));
    series.y.push_back(loss);
    next = static_cast<double>(line.epoch) * kGrowth;
  }
  check(!series.y.empty(), "addition: a run has no epoch in its metrics");
  return series;
}

/// Layers from the top, heads from the left; labels of the axes only at the figure's edge.
Figure attention_grid(const std::vector<AttentionMap>& maps, int64_t heads, plot::ColorMap colors,
                      const Translations& t) {
  const auto count = std::ssize(maps);
  check(heads > 0 && count > 0 && count % heads == 0,
        "addition: {} attention maps cannot be laid out with {} heads per layer", count, heads);
  Figure figure{.columns = heads, .shared_colors = true};
  for (int64_t i = 0; i < count; ++i) {
    const auto& [title, tokens, weights] = maps[i];
    const auto size = std::ssize(tokens);
    check(size > 0 && std::ssize(weights) == size * size,
          "addition: attention map '{}' has {} weights for {} tokens", title, weights.size(), size);
    plot::HeatMap map{.title = title,
                      .values = {size, size, weights},
                      .row_names = tokens,
                      .column_names = tokens,
                      .colors = colors,
                      .annotate = true};
    if (i % heads == 0) map.y_label = t.at("attention.query");
    if (i + heads >= count) map.x_label = t.at("attention.key");
    figure.panels.push_back(std::move(map));
  }
  return figure;
}

}  // namespace

Figure error_map_figure(const AdditionAnswers& answers, Architecture network,
                        const Translations& t) {
  const auto all = errors(answers);
  const auto wrong = kAdditionPairs - right_answers(answers);
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  const int largest = std::max(-*least, *most), darkest = std::clamp(largest, 1, kDarkest);
  std::vector<std::string> tens(kNumbers);  // names for every tenth row and column
  for (int n = 0; n < kNumbers; n += 10) tens[n] = fmt::format("{:02}", n);
  plot::HeatMap map{.title = wrong == 0 ? t.at("errors.map.none")
                                        : t.fill("errors.map.some", "wrong"_a = with_commas(wrong)),
                    .values = {kNumbers, kNumbers, {all.begin(), all.end()}},
                    .row_names = tens,
                    .column_names = tens,
                    .x_label = t.at("errors.map.b"),
                    .y_label = t.at("errors.map.a"),
                    .colors = plot::ColorMap::BlueRed,
                    .low = -darkest,
                    .high = darkest,
                    .color_bar = wrong > 0,
                    .color_label = t.fill(largest > darkest ? "errors.far_error" : "errors.error",
                                          "darkest"_a = darkest),
                    .size = wrong > 0 ? kErrorMapSize : kEmptyMapSize};
  return {.title = t.fill("errors.map.title", "network"_a = t.at(name_of(network))),
          .panels = {map}};
}

Figure error_box_figure(const AnswersOfBoth& answers, const Translations& t) {
  Figure figure{.title = t.at("errors.box.title"), .columns = 2};
  figure.panels.push_back(box_chart(answers, /*only_wrong=*/false, t));
  if (any_wrong(answers))
    figure.panels.push_back(box_chart(answers, /*only_wrong=*/true, t));
  else
    figure.title += ": " + t.at("errors.map.none");
  return figure;
}

Figure top_errors_figure(const AnswersOfBoth& answers, const Translations& t) {
  check_any_wrong(answers);
  // A lost and an invented carry, and the most frequent errors of each network.
  std::set<int> values = {-10, 10};
  for (const auto network : kArchitectures)
    for (const auto& top : top_errors(answers.of(network), kShownErrors)) values.insert(top.value);
  Chart frame{.x = {.label = t.at("errors.error")},
              .y = {.label = t.at("errors.top.per_run")},
              .width = 560};
  for (const int value : values)
    frame.x.names.push_back(fmt::format("{}{}", value < 0 ? "−" : "+", std::abs(value)));
  return {
      .title = t.at("errors.top.title"),
      .panels = {chart_of_both(frame, Mark::Bars, answers, t, [&](const auto& runs, Series& bars) {
        for (const int value : values) {
          int64_t count = 0;
          for (const auto& run : runs) {
            const auto all = errors(run);
            count += std::count(all.begin(), all.end(), value);
          }
          bars.y.push_back(static_cast<double>(count) / static_cast<double>(runs.size()));
        }
      })}};
}

Figure error_kinds_figure(const AnswersOfBoth& answers, const Translations& t) {
  check_any_wrong(answers);
  return {.title = t.at("errors.kinds.title"),
          .columns = 2,
          .panels = {kinds_chart(answers, "errors.kinds.by_carries", "errors.kinds.carries",
                                 accuracy_by_carries, t),
                     kinds_chart(answers, "errors.kinds.by_digit", "errors.kinds.digits",
                                 accuracy_by_digit, t)}};
}

Figure loss_figure(const PerArchitecture<std::vector<std::vector<MetricsLine>>>& runs,
                   const Translations& t) {
  Figure figure{.title = t.at("loss.title"), .columns = 2};
  for (const bool by_seconds : {false, true}) {
    Chart chart{.x = {.label = t.at(by_seconds ? "training_time" : "loss.epoch"), .log = true},
                .y = {.label = t.at("loss.loss"), .log = true},
                .width = 400,
                .height = 300};
    for (const auto network : kArchitectures)
      for (const auto& run : runs.of(network)) {
        auto series = loss_series(run, by_seconds);
        if (&run == &runs.of(network).front()) series.name = t.at(name_of(network));
        series.stroke = network == Architecture::Cnn ? plot::Stroke::Solid : plot::Stroke::Dashed;
        series.color = color_of(network);
        chart.series.push_back(std::move(series));
      }
    figure.panels.push_back(std::move(chart));
  }
  return figure;
}

Figure attention_figure(const AttentionStudy& study, const Translations& t) {
  auto figure = attention_grid(study.pair, study.heads, plot::ColorMap::Blues, t);
  figure.title =
      t.fill("attention.title", "a"_a = study.a, "b"_a = study.b, "sum"_a = study.a + study.b);
  figure.color_label = t.at("attention.weight");
  for (auto& panel : figure.panels) {
    auto& map = std::get<plot::HeatMap>(panel);
    map.low = 0, map.high = 1;
  }
  return figure;
}

Figure carry_attention_figure(const AttentionStudy& study, const Translations& t) {
  auto figure = attention_grid(study.carry_difference, study.heads, plot::ColorMap::BlueRed, t);
  figure.title = t.at("carry.title");
  figure.color_label = t.at("carry.difference");
  for (auto& panel : figure.panels)
    for (double& value : std::get<plot::HeatMap>(panel).values.values)
      value = std::round(100 * value) / 100 + 0.0;  // never "-0.00"
  return figure;
}

}  // namespace vitrine::addition
