#include "vitrine/train/run_records.h"

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/plot/figure.h"

namespace vitrine {
namespace {

constexpr auto kBetweenCurves = std::chrono::seconds(10);  // a drawing takes a fifth of a second
constexpr size_t kMostMarkers = 40;                        // longer curves are lines without dots

/// An old event file would show the steps after the resume point twice.
const RunFolder& without_old_events(const RunFolder& folder) {
  for (const auto& entry : fs::directory_iterator(folder.path()))
    if (entry.path().filename().string().starts_with("events.out.tfevents"))
      fs::remove(entry.path());
  return folder;
}

plot::Series series_of(const std::vector<MetricsLine>& lines, const std::string& value,
                       const std::string& name, double factor, plot::Stroke stroke) {
  plot::Series series{.name = name, .stroke = stroke};
  for (const auto& line : lines) {
    const double y = line.value(value);
    if (line.kind != "epoch" || !std::isfinite(y)) continue;
    series.x.push_back(static_cast<double>(line.epoch));
    series.y.push_back(factor * y);
  }
  series.markers = series.x.size() <= kMostMarkers;
  return series;
}

constexpr std::string_view kTrainPrefix = "train_";

/// Whether the loss stands in the line under a name of its own, such as "mse", too.
bool names_loss(const MetricsLine& line) {
  return std::any_of(line.values.begin(), line.values.end(), [&](const auto& value) {
    return value.first != "train_loss" && value.first.starts_with(kTrainPrefix) &&
           value.second == line.value("train_loss");
  });
}

/// The quantities of the epoch lines: "loss", "accuracy", ...
std::vector<std::string> measured(const std::vector<MetricsLine>& lines) {
  std::vector<std::string> names;
  for (const auto& line : lines) {
    if (line.kind != "epoch") continue;
    for (const auto& [key, value] : line.values) {
      if (!key.starts_with(kTrainPrefix) || (key == "train_loss" && names_loss(line))) continue;
      const auto name = key.substr(kTrainPrefix.size());
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

plot::Chart chart_of(const std::vector<MetricsLine>& lines, const std::string& metric) {
  const bool share = metric == "accuracy";
  const bool spans_decades = metric == "mse" || metric == "perplexity";
  plot::Chart chart{.title = metric,
                    .x = {.label = "epoch"},
                    .y = {.label = share ? metric + " (%)" : metric, .log = spans_decades}};
  for (const auto& [part, stroke] :
       {std::pair("train", plot::Stroke::Solid), std::pair("validation", plot::Stroke::Dashed)}) {
    auto series =
        series_of(lines, fmt::format("{}_{}", part, metric), part, share ? 100 : 1, stroke);
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

RunRecords::RunRecords(const RunFolder& folder)
    : folder_(folder), events_(without_old_events(folder).path()) {
  if (!fs::exists(folder_.metrics())) return;
  for (const auto& line : read_metrics(folder_.metrics())) write_events(line);
}

void RunRecords::add(const MetricsLine& line) {
  write_events(line);
  const auto now = std::chrono::steady_clock::now();
  const bool due = line.kind == "epoch" && now - drawn_ >= kBetweenCurves;
  if (!due && line.kind != "test") return;
  write_curves(folder_);
  drawn_ = std::chrono::steady_clock::now();
}

void RunRecords::write_events(const MetricsLine& line) {
  for (const auto& [name, value] : line.values)
    events_.scalar(line.kind + "/" + name, line.step, value, line.time);
  if (line.kind == "test") events_.flush();
}

void write_curves(const RunFolder& folder) {
  const auto lines = read_metrics(folder.metrics());
  plot::Figure figure{.title = folder.path().filename().string(), .columns = 2};
  for (const auto& metric : measured(lines)) figure.panels.push_back(chart_of(lines, metric));
  figure.save(folder.path() / "curves");
}

void write_class_report(const RunFolder& folder, const ConfusionMatrix& matrix) {
  write_file_atomically(folder.path() / "classification_report.txt", classification_report(matrix));
  const auto n = matrix.size();
  plot::HeatMap map{.title = fmt::format("Test set: {:.2f} % of {} right", 100 * matrix.accuracy(),
                                         matrix.total()),
                    .values = {n, n, {}},
                    .row_names = matrix.classes,
                    .column_names = matrix.classes,
                    .x_label = "predicted class",
                    .y_label = "true class",
                    .colors = plot::ColorMap::Blues,
                    .annotate = n <= 20,
                    .color_label = "pictures"};
  map.values.values.assign(matrix.counts.begin(), matrix.counts.end());
  plot::Figure{.panels = {map}}.save(folder.path() / "confusion_matrix");
}

}  // namespace vitrine
