#include <algorithm>
#include <cmath>

#include "vitrine/studies/scratch/study.h"
#include "vitrine/studies/sweep_figure.h"

namespace vitrine::scratch {
namespace {

using namespace fmt::literals;

constexpr double kPercent = 100, kMinute = 60;  // seconds
constexpr int64_t kBins = 30;

double test_percent(const RunOutcome& outcome) { return kPercent * test_figure(outcome); }
double validation_percent(const RunOutcome& outcome) {
  return kPercent * validation_figure(outcome);
}

PointLine points_of(const ScratchStudy& study) {
  PointLine points;
  for (const auto& runs : study.rates) points.push_back(&runs.point);
  return points;
}

double rate_of(const SweepPoint& point) { return setting_number(point, kLearningRateKey); }

/// Accuracy over the learning rate, on either split.
plot::Chart accuracy_chart(const StudyReport& r, const ScratchStudy& study) {
  plot::Chart chart{.title = r.text("figure.accuracy"),
                    .x = {.label = r.text("figure.rate"), .log = true},
                    .y = {.label = r.text("figure.accuracy_axis"), .low = 0},
                    .width = 460,
                    .height = 380};
  const auto points = points_of(study);
  const auto add = [&](const std::string& name, const RunFigure& figure, plot::Stroke stroke) {
    auto series = mean_series(points, rate_of, figure);
    series.name = r.text(name);
    series.markers = true;
    series.stroke = stroke;
    if (!series.y.empty()) chart.series.push_back(series);
  };
  add("figure.validation", validation_percent, plot::Stroke::Dashed);
  add("figure.test", test_percent, plot::Stroke::Solid);
  auto failed = marked_series(
      points, rate_of, [](const PointResult& point) { return point.any_failed(); },
      [](const PointResult&) { return 0.0; });
  failed.name = r.text("figure.failed");
  if (!failed.y.empty()) chart.series.push_back(failed);
  return chart;
}

/// The training loss of all seeds, in spans of time.
plot::Series loss_series(const RateRuns& runs) {
  const auto all = binned(joined(runs.loss), kBins);
  plot::Series series{.name = fmt::format("{:g}", runs.rate), .y = all.values};
  for (const double seconds : all.seconds) series.x.push_back(seconds / kMinute);
  return series;
}

plot::Chart loss_chart(const StudyReport& r, const ScratchStudy& study) {
  plot::Chart chart{.title = r.text("figure.loss"),
                    .x = {.label = r.text("figure.minutes"), .low = 0},
                    .y = {.label = r.text("figure.loss_axis")},
                    .width = 460,
                    .height = 380};
  for (const auto& runs : study.rates)
    if (auto series = loss_series(runs); !series.y.empty()) chart.series.push_back(series);
  return chart;
}

void write_figure(StudyReport& r, const ScratchStudy& study) {
  plot::Figure figure{.title = r.text("figure.title"), .columns = 2};
  for (const auto& chart : {accuracy_chart(r, study), loss_chart(r, study)})
    if (!chart.series.empty()) figure.panels.push_back(chart);
  if (!figure.panels.empty()) r.figure("rates", figure, r.text("figure.caption"));
}

double mean_updates(const PointResult& point) {
  return mean_std(point, [](const RunOutcome& o) { return static_cast<double>(o.steps); }).mean;
}

void write_table(StudyReport& r, const ScratchStudy& study) {
  plot::Table table{r.text("table.title"), r.texts().list("table.columns"), {}};
  for (const auto& runs : study.rates) {
    const auto failed = std::count_if(runs.point.runs.begin(), runs.point.runs.end(),
                                      [](const SweepRun& run) { return run.failed(); });
    const auto loss = loss_series(runs);
    table.rows.push_back({fmt::format("{:g}", runs.rate),
                          mean_std_text(mean_std(runs.point, validation_figure), 2, kPercent),
                          mean_std_text(mean_std(runs.point, test_figure), 2, kPercent),
                          loss.y.empty() ? "–" : fmt::format("{:.3f}", loss.y.back()),
                          with_commas(std::llround(mean_updates(runs.point))),
                          std::to_string(failed)});
  }
  r.table(table);
}

/// The rate that the validation images choose, beside that of the reference.
void write_finding(StudyReport& r, const ScratchStudy& study) {
  const auto* best = best_rate(study);
  if (best == nullptr) return;
  const auto text_of = [&](const RateRuns& runs) {
    return mean_std_text(mean_std(runs.point, test_figure), 1, kPercent);
  };
  std::vector<std::string> sentences = {
      r.text("best", "rate"_a = best->rate, "accuracy"_a = text_of(*best))};
  for (const auto& runs : study.rates)
    if (runs.rate == kReferenceRate && &runs != best)
      sentences.push_back(r.text("reference", "rate"_a = runs.rate, "accuracy"_a = text_of(runs),
                                 "factor"_a = best->rate / runs.rate));
  r.finding(sentences);
  if (const double updates = mean_updates(best->point); updates > 0)
    r.say("length", "updates"_a = with_commas(kReferenceUpdates), "rate"_a = kReferenceRate,
          "sum"_a = kReferenceUpdates * kReferenceRate,
          "here"_a = with_commas(std::llround(updates)),
          "equal"_a = kReferenceUpdates * kReferenceRate / updates);
  r.say("width", "dim"_a = study.dim, "reference_dim"_a = with_commas(kReferenceDim),
        "rate"_a = best->rate,
        "scaled"_a = best->rate * static_cast<double>(study.dim) / kReferenceDim);
}

}  // namespace

void write_scratch_report(const ScratchStudy& study, const fs::path& folder,
                          const std::vector<std::string>& languages) {
  for (const auto& language : report_languages(scratch_texts(), languages)) {
    StudyReport r(scratch_texts(), language, folder);
    r.say("intro", "minutes"_a = study.minutes, "parameters"_a = with_commas(study.parameters),
          "dim"_a = study.dim, "reference_dim"_a = with_commas(kReferenceDim),
          "batch"_a = study.batch, "rate"_a = kReferenceRate);
    r.preformatted("vitrine study scratch");
    if (study.rates.empty()) {
      r.missing(scratch_parts());
    } else {
      write_figure(r, study);
      write_table(r, study);
      std::vector<SweepRun> runs;
      for (const auto& rate : study.rates)
        runs.insert(runs.end(), rate.point.runs.begin(), rate.point.runs.end());
      r.failures(runs);
      write_finding(r, study);
    }
    r.save();
  }
}

}  // namespace vitrine::scratch
