#include "vitrine/train/run_records.h"

#include <chrono>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/plot/figure.h"

namespace vitrine {
namespace {

constexpr size_t kMostMarkers = 40;  // longer curves are lines without dots

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

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

plot::Chart chart_of(const std::vector<MetricsLine>& lines, const std::string& title,
                     const std::string& metric, const std::string& label, double factor) {
  plot::Chart chart{.title = title, .x = {.label = "epoch"}, .y = {.label = label}};
  for (const auto& [part, stroke] :
       {std::pair("train", plot::Stroke::Solid), std::pair("validation", plot::Stroke::Dashed)}) {
    auto series = series_of(lines, fmt::format("{}_{}", part, metric), part, factor, stroke);
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

RunRecords::RunRecords(const RunFolder& folder)
    : folder_(folder), events_(without_old_events(folder).path()) {
  if (!fs::exists(folder_.metrics())) return;
  for (const auto& line : read_metrics(folder_.metrics())) add(line);
}

void RunRecords::add(const MetricsLine& line) {
  for (const auto& [name, value] : line.values)
    events_.scalar(line.kind + "/" + name, line.step, value, wall_time());
  if (line.kind != "epoch") return;
  events_.flush();
  write_curves(folder_);
}

void write_curves(const RunFolder& folder) {
  const auto lines = read_metrics(folder.metrics());
  plot::Figure figure{.title = folder.path().filename().string(), .columns = 2};
  figure.panels = {chart_of(lines, "Loss", "loss", "cross-entropy (nats)", 1),
                   chart_of(lines, "Accuracy", "accuracy", "accuracy (%)", 100)};
  figure.save(folder.path() / "curves");
}

void write_test_report(const RunFolder& folder, const MetricsLine& scores,
                       const ConfusionMatrix& matrix) {
  MetricsFile(folder.metrics(), /*keep_bytes=*/-1).add(scores);
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
