#include "vitrine/train/run_records.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/plot/figure.h"

namespace vitrine {
namespace {

constexpr auto kBetweenCurves = std::chrono::seconds(10);  // a drawing takes a fifth of a second
constexpr size_t kMaxMarkers = 40;                         // longer curves are lines without dots
constexpr int64_t kFewEpochs = 3;                          // too few points for a curve of epochs
constexpr int64_t kBestColor = 6;                          // black, over both curves

const std::string kTrain = "train", kValidation = "validation", kTest = "test";

/// The folder for event files. Old ones would show the steps after the resume point twice.
fs::path without_old_events(const RunFolder& run) {
  const auto folder = run.path() / "tensorboard";
  for (const auto& inside : {folder, folder / kTrain, folder / kValidation, folder / kTest}) {
    if (!fs::exists(inside)) continue;
    for (const auto& entry : fs::directory_iterator(inside))
      if (entry.path().filename().string().starts_with("events.out.tfevents"))
        fs::remove(entry.path());
  }
  return folder;
}

/// Where lines stand among the epochs.
class EpochAxis {
 public:
  explicit EpochAxis(const std::vector<MetricsLine>& lines) {
    for (const auto& line : lines)
      if (line.kind == "epoch") ends_[line.epoch] = line.step;
  }

  int64_t epochs() const { return std::ssize(ends_); }
  /// Epochs done; NaN inside an epoch whose end is not known.
  double of(const MetricsLine& line) const {
    if (line.kind == "epoch") return static_cast<double>(line.epoch);
    const auto end = ends_.find(line.epoch), begin = ends_.find(line.epoch - 1);
    if (end == ends_.end()) return std::nan("");
    const auto first = begin == ends_.end() ? 0 : begin->second;
    return static_cast<double>(line.epoch - 1) +
           static_cast<double>(line.step - first) / static_cast<double>(end->second - first);
  }

 private:
  std::map<int64_t, int64_t> ends_;  // the last step of each epoch
};

/// The values that lines of some kinds have under a name.
plot::Series series_of(const std::vector<MetricsLine>& lines, const std::string& name,
                       const std::set<std::string>& kinds, const Metric& metric) {
  const EpochAxis axis(lines);
  plot::Series series;
  for (const auto& line : lines) {
    const double x = axis.of(line), y = line.value(name);
    if (!kinds.contains(line.kind) || !std::isfinite(x) || !std::isfinite(y)) continue;
    series.x.push_back(x);
    series.y.push_back(metric.in_unit(y));
  }
  series.markers = series.x.size() <= kMaxMarkers;
  return series;
}

/// The values of a line that begin with "validation_", without that.
Metrics validation_of(const MetricsLine& line) {
  static constexpr std::string_view kPrefix = "validation_";
  Metrics values;
  for (const auto& [name, value] : line.values)
    if (name.starts_with(kPrefix)) values.emplace_back(name.substr(kPrefix.size()), value);
  return values;
}

/// The line of the epoch whose checkpoint is the best; null before the first evaluation.
const MetricsLine* best_epoch(const std::vector<MetricsLine>& lines, const Metric& selection) {
  const MetricsLine* best = nullptr;
  Metrics best_values;
  for (const auto& line : lines) {
    const auto values = validation_of(line);
    if (line.kind != "epoch" || values.empty()) continue;
    if (!better_evaluation(values, best_values, selection)) continue;
    best = &line;
    best_values = values;
  }
  return best;
}

plot::Chart chart_of(const std::vector<MetricsLine>& lines, const Metric& metric,
                     const MetricsLine* best) {
  plot::Chart chart{.title = metric.name,
                    .x = {.label = "epoch"},
                    .y = {.label = metric.label(), .log = metric.log_scale}};
  const auto add = [&](plot::Series series, const std::string& name, plot::Stroke stroke,
                       int64_t color) {
    series.name = name;
    series.stroke = stroke;
    series.color = color;
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  };
  add(series_of(lines, kTrain + "_" + metric.name, {"epoch"}, metric), kTrain, plot::Stroke::Solid,
      0);
  add(series_of(lines, kValidation + "_" + metric.name, {"epoch", "evaluation"}, metric),
      kValidation, plot::Stroke::Dashed, 1);
  if (EpochAxis(lines).epochs() <= kFewEpochs) {
    auto batches = series_of(lines, metric.name, {"step"}, metric);
    batches.markers = false;
    if (batches.x.size() > 1) add(std::move(batches), "single batches", plot::Stroke::Dotted, 0);
  }
  const double y = best == nullptr ? std::nan("") : best->value("validation_" + metric.name);
  if (std::isfinite(y))
    chart.series.push_back({.name = fmt::format("best: epoch {}", best->epoch),
                            .x = {static_cast<double>(best->epoch)},
                            .y = {metric.in_unit(y)},
                            .mark = plot::Mark::Points,
                            .rings = true,
                            .color = kBestColor});
  return chart;
}

bool same_curves(const plot::Chart& one, const plot::Chart& other) {
  return std::equal(one.series.begin(), one.series.end(), other.series.begin(), other.series.end(),
                    [](const auto& a, const auto& b) { return a.x == b.x && a.y == b.y; });
}

}  // namespace

RunRecords::RunRecords(const RunFolder& folder, std::vector<Metric> metrics, Metric selection,
                       const HParams& hparams)
    : folder_(folder),
      metrics_(std::move(metrics)),
      selection_(std::move(selection)),
      session_(without_old_events(folder)) {
  const auto lines =
      fs::exists(folder_.metrics()) ? read_metrics(folder_.metrics()) : std::vector<MetricsLine>();
  session_.start_session(
      hparams, lines.empty() ? static_cast<double>(std::time(nullptr)) : lines.front().time);
  for (const auto& line : lines) write_events(line);
}

void RunRecords::add(const MetricsLine& line) {
  write_events(line);
  const auto now = std::chrono::steady_clock::now();
  const bool due = line.kind == "epoch" && now - drawn_ >= kBetweenCurves;
  if (!due && line.kind != "test") return;
  constexpr int64_t kSteps = 2000;  // more than a figure is wide
  curves_figure(folder_.path().filename().string(), read_metrics(folder_.metrics(), kSteps),
                metrics_, selection_)
      .save(folder_.path() / "curves");
  drawn_ = std::chrono::steady_clock::now();
}

EventWriter& RunRecords::events_of(const std::string& split) {
  return splits_.try_emplace(split, session_.path().parent_path() / split).first->second;
}

/// "train_loss" and "validation_loss" of an epoch and "loss" of the test have the tag "loss"; what
/// concerns training alone, and the loss of single batches, has its line's kind before its name.
void RunRecords::write_events(const MetricsLine& line) {
  const auto add = [&](const std::string& split, const std::string& tag, double value) {
    events_of(split).scalar(tag, line.step, value, line.time);
  };
  for (const auto& [name, value] : line.values) {
    if (line.kind == kTest)
      add(kTest, name, value);
    else if (line.kind == "epoch" && name.starts_with(kTrain + "_"))
      add(kTrain, name.substr(kTrain.size() + 1), value);
    else if (name.starts_with(kValidation + "_"))
      add(kValidation, name.substr(kValidation.size() + 1), value);
    else
      add(kTrain, line.kind + "/" + name, value);
  }
  if (line.kind != kTest) return;
  session_.end_session(line.time);
  session_.flush();
  for (auto& [split, events] : splits_) events.flush();
}

plot::Figure curves_figure(const std::string& title, const std::vector<MetricsLine>& lines,
                           const std::vector<Metric>& metrics, const Metric& selection) {
  const auto* best = best_epoch(lines, selection);
  std::vector<plot::Chart> charts;
  for (const auto& metric : metrics) {
    auto chart = chart_of(lines, metric, best);
    if (chart.series.empty()) continue;
    if (!charts.empty() && same_curves(charts.back(), chart)) charts.pop_back();
    charts.push_back(std::move(chart));
  }
  plot::Figure figure{.title = title, .columns = 2};
  for (auto& chart : charts) figure.panels.emplace_back(std::move(chart));
  if (best != nullptr)
    figure.note =
        fmt::format("Best checkpoint: epoch {}, validation {} {}.", best->epoch, selection.name,
                    selection.text(best->value("validation_" + selection.name)));
  return figure;
}

}  // namespace vitrine
