#include <cmath>
#include <utility>

#include "vitrine/core/error.h"
#include "vitrine/studies/addition/figures.h"

namespace vitrine {
namespace {

constexpr double kGrowth = 1.02;  // from one drawn epoch to the next

/// The epochs of a run, thinned so that they lie evenly on a logarithmic axis.
std::vector<MetricsLine> drawn_epochs(const std::vector<MetricsLine>& lines) {
  std::vector<MetricsLine> epochs;
  double next = 0;
  for (const auto& line : lines) {
    if (line.kind != "epoch" || line.epoch < next || !std::isfinite(line.value("train_loss")))
      continue;
    epochs.push_back(line);
    next = static_cast<double>(line.epoch) * kGrowth;
  }
  return epochs;
}

plot::Series loss_series(const std::vector<MetricsLine>& epochs, AdditionArchitecture architecture,
                         bool by_seconds) {
  plot::Series series{.stroke = architecture == AdditionArchitecture::Cnn ? plot::Stroke::Solid
                                                                          : plot::Stroke::Dashed,
                      .color = architecture_color(architecture)};
  for (const auto& line : epochs) {
    series.x.push_back(by_seconds ? line.value("seconds") : static_cast<double>(line.epoch));
    series.y.push_back(line.value("train_loss"));
  }
  return series;
}

}  // namespace

plot::Figure loss_figure(const PerArchitecture<std::vector<std::vector<MetricsLine>>>& runs,
                         Language language) {
  const auto& w = figure_words(language);
  plot::Figure figure{.title = w.loss_title, .columns = 2};
  for (const bool by_seconds : {false, true}) {
    plot::Chart chart{.x = {.label = by_seconds ? w.training_time : w.epoch, .log = true},
                      .y = {.label = w.train_loss, .log = true},
                      .width = 400,
                      .height = 300};
    for (const auto architecture : kArchitectures) {
      auto name = w.architecture.of(architecture);
      for (const auto& run : runs.of(architecture)) {
        const auto epochs = drawn_epochs(run);
        check(!epochs.empty(), "addition: a run of the {} has no epoch in its metrics",
              figure_words(Language::English).architecture.of(architecture));
        chart.series.push_back(loss_series(epochs, architecture, by_seconds));
        chart.series.back().name = std::exchange(name, "");
      }
    }
    figure.panels.push_back(std::move(chart));
  }
  return figure;
}

}  // namespace vitrine
