#include "vitrine/train/run_records.h"

#include <algorithm>
#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/plot/figure.h"

namespace vitrine {
namespace {

constexpr auto kBetweenCurves = std::chrono::seconds(10);  // a drawing takes a fifth of a second
constexpr size_t kMaxMarkers = 40;                         // longer curves are lines without dots

/// An old event file would show the steps after the resume point twice.
const RunFolder& without_old_events(const RunFolder& folder) {
  for (const auto& entry : fs::directory_iterator(folder.path()))
    if (entry.path().filename().string().starts_with("events.out.tfevents"))
      fs::remove(entry.path());
  return folder;
}

plot::Series series_of(const std::vector<MetricsLine>& lines, const std::string& split,
                       const Metric& metric, plot::Stroke stroke) {
  plot::Series series{.name = split, .stroke = stroke};
  for (const auto& line : lines) {
    const double y = line.value(split + "_" + metric.name);
    if (line.kind != "epoch" || !std::isfinite(y)) continue;
    series.x.push_back(static_cast<double>(line.epoch));
    series.y.push_back(metric.in_unit(y));
  }
  series.markers = series.x.size() <= kMaxMarkers;
  return series;
}

plot::Chart chart_of(const std::vector<MetricsLine>& lines, const Metric& metric) {
  plot::Chart chart{.title = metric.name,
                    .x = {.label = "epoch"},
                    .y = {.label = metric.label(), .log = metric.log_scale}};
  for (const auto& [split, stroke] :
       {std::pair("train", plot::Stroke::Solid), std::pair("validation", plot::Stroke::Dashed)}) {
    auto series = series_of(lines, split, metric, stroke);
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

bool same_curves(const plot::Chart& one, const plot::Chart& other) {
  return std::equal(one.series.begin(), one.series.end(), other.series.begin(), other.series.end(),
                    [](const auto& a, const auto& b) { return a.x == b.x && a.y == b.y; });
}

}  // namespace

RunRecords::RunRecords(const RunFolder& folder, std::vector<Metric> metrics)
    : folder_(folder), metrics_(std::move(metrics)), events_(without_old_events(folder).path()) {
  if (!fs::exists(folder_.metrics())) return;
  for (const auto& line : read_metrics(folder_.metrics())) write_events(line);
}

void RunRecords::add(const MetricsLine& line) {
  write_events(line);
  const auto now = std::chrono::steady_clock::now();
  const bool due = line.kind == "epoch" && now - drawn_ >= kBetweenCurves;
  if (!due && line.kind != "test") return;
  write_curves(folder_, metrics_);
  drawn_ = std::chrono::steady_clock::now();
}

void RunRecords::write_events(const MetricsLine& line) {
  for (const auto& [name, value] : line.values)
    events_.scalar(line.kind + "/" + name, line.step, value, line.time);
  if (line.kind == "test") events_.flush();
}

void write_curves(const RunFolder& folder, const std::vector<Metric>& metrics) {
  const auto lines = read_metrics(folder.metrics());
  std::vector<plot::Chart> charts;
  for (const auto& metric : metrics) {
    auto chart = chart_of(lines, metric);
    if (chart.series.empty()) continue;
    if (!charts.empty() && same_curves(charts.back(), chart)) charts.pop_back();
    charts.push_back(std::move(chart));
  }
  plot::Figure figure{.title = folder.path().filename().string(), .columns = 2};
  for (auto& chart : charts) figure.panels.emplace_back(std::move(chart));
  figure.save(folder.path() / "curves");
}

}  // namespace vitrine
