#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "vitrine/core/mean_std.h"
#include "vitrine/studies/finetune/study.h"

namespace vitrine::finetune {
namespace {

using namespace fmt::literals;
using Rows = std::vector<std::vector<std::string>>;
using Curve = std::vector<double> EpochCurves::*;

const std::vector<int64_t> kReferenceEpochs = {10, 10, 50};
constexpr int64_t kReferenceImage = 224, kReferenceImages = 50000;

double best_of(const std::vector<double>& values) {
  return values.empty() ? std::nan("") : *std::max_element(values.begin(), values.end());
}

int64_t lowest_epoch(const std::vector<double>& losses) {
  return std::min_element(losses.begin(), losses.end()) - losses.begin() + 1;
}

/// A figure of each run of a start.
std::vector<double> figures(const Start& start, const std::function<double(const TunedRun&)>& of) {
  std::vector<double> values;
  for (const auto& run : start.runs) values.push_back(of(run));
  return values;
}

std::string percent_cell(const std::vector<double>& fractions) {
  return mean_std_text(mean_std(fractions), 2, 100);
}

double mean_best(const Start& start) {
  return mean_std(
             figures(start,
                     [](const TunedRun& run) { return best_of(run.curves.validation_accuracy); }))
      .mean;
}

/// Mean over the runs, epoch by epoch, with their standard deviation as a band.
plot::Series series_of(const Start& start, Curve curve, double unit) {
  std::vector<std::vector<double>> curves;
  for (const auto& run : start.runs) curves.push_back(run.curves.*curve);
  plot::Series series;
  for (const auto& here : mean_std_by_index(curves)) {
    series.x.push_back(static_cast<double>(series.x.size() + 1));
    series.y.push_back(unit * here.mean);
    series.error.push_back(unit * here.std);
  }
  return series;
}

plot::Chart chart_of(const StudyReport& r, const Experiment& e, const std::string& key, Curve train,
                     Curve validation, double unit) {
  plot::Chart chart{.title = r.text("curves." + key),
                    .x = {.label = r.text("curves.epoch")},
                    .y = {.label = r.text("curves." + key + "_axis")},
                    .width = 440,
                    .height = 300};
  const auto add = [&](const Start& start, Curve curve, const std::string& name, int64_t color,
                       plot::Stroke stroke) {
    auto series = series_of(start, curve, unit);
    if (series.x.empty()) return;
    series.name = r.text("curves." + name);
    series.color = color;
    series.stroke = stroke;
    chart.series.push_back(std::move(series));
  };
  add(e.pretrained, train, "pretrained_train", 0, plot::Stroke::Solid);
  add(e.pretrained, validation, "pretrained_validation", 0, plot::Stroke::Dashed);
  add(e.scratch, train, "scratch_train", 1, plot::Stroke::Solid);
  add(e.scratch, validation, "scratch_validation", 1, plot::Stroke::Dashed);
  return chart;
}

void write_curves(StudyReport& r, const Experiment& e) {
  plot::Figure figure{.title = r.text(e.name + ".title"), .columns = 2};
  figure.panels.emplace_back(
      chart_of(r, e, "loss", &EpochCurves::train_loss, &EpochCurves::validation_loss, /*unit=*/1));
  figure.panels.emplace_back(chart_of(r, e, "accuracy", &EpochCurves::train_accuracy,
                                      &EpochCurves::validation_accuracy, /*unit=*/100));
  r.figure(e.name, figure, r.text("curves.caption"));
}

std::vector<std::string> result_row(const StudyReport& r, const std::string& experiment,
                                    const std::string& start_name, const Start& start) {
  std::vector<int64_t> epochs;
  for (const auto& run : start.runs) epochs.push_back(lowest_epoch(run.curves.validation_loss));
  return {
      fmt::format("{}, {}", experiment, r.text("results." + start_name)),
      percent_cell(
          figures(start, [](const auto& run) { return run.curves.train_accuracy.back(); })),
      percent_cell(
          figures(start, [](const auto& run) { return run.curves.validation_accuracy.front(); })),
      percent_cell(
          figures(start, [](const auto& run) { return best_of(run.curves.validation_accuracy); })),
      mean_std_text(mean_std(figures(start,
                                     [](const auto& run) {
                                       return *std::min_element(run.curves.validation_loss.begin(),
                                                                run.curves.validation_loss.end());
                                     })),
                    3),
      epochs.empty() ? "–" : fmt::format("{}", fmt::join(epochs, ", ")),
      percent_cell(figures(start, [](const auto& run) { return run.outcome.test_value(); }))};
}

void write_results(StudyReport& r, const FinetuneStudy& study) {
  Rows rows;
  for (const auto& e : study.experiments) {
    const auto number = r.text(e.name + ".number");
    auto reference = r.texts().list(e.name + ".reference");
    reference.insert(reference.begin(), fmt::format("{}, {}", number, r.text("results.reference")));
    rows.push_back(std::move(reference));
    rows.push_back(result_row(r, number, "pretrained", e.pretrained));
    rows.push_back(result_row(r, number, "scratch", e.scratch));
  }
  r.section(r.text("results.heading"));
  r.table({r.text("results.table"), r.texts().list("results.columns"), rows});
  r.say("results.how");
}

/// Whether overfitting sets in: where the mean validation loss is lowest, and how it ends.
std::string loss_sentence(const StudyReport& r, const Start& start) {
  const auto losses = series_of(start, &EpochCurves::validation_loss, 1).y;
  const auto lowest = lowest_epoch(losses);
  const auto rise = losses.back() - losses[static_cast<size_t>(lowest - 1)];
  if (lowest == std::ssize(losses)) return r.text("findings.loss_falls", "epochs"_a = lowest);
  return r.text("findings.loss_rises", "epoch"_a = lowest, "epochs"_a = std::ssize(losses),
                "rise"_a = rise);
}

void write_findings(StudyReport& r, const FinetuneStudy& study) {
  std::vector<std::string> items;
  for (const auto& e : study.experiments) {
    if (e.pretrained.runs.empty() || e.scratch.runs.empty()) continue;
    const double tuned = 100 * mean_best(e.pretrained), scratch = 100 * mean_best(e.scratch);
    items.push_back(r.text("findings.start", "number"_a = r.text(e.name + ".number"),
                           "tuned"_a = tuned, "scratch"_a = scratch,
                           "difference"_a = tuned - scratch) +
                    " " + loss_sentence(r, e.pretrained));
  }
  if (items.empty()) return;
  r.section(r.text("findings.heading"));
  r.list(items);
}

void write_sizes(StudyReport& r, const FinetuneStudy& study) {
  const auto& plan = study.plan;
  r.section(r.text("sizes.heading"));
  r.say("sizes.how", "hours"_a = plan.hours, "threads"_a = plan.threads,
        "estimate"_a = plan.estimate);
  if (plan.estimate > plan.hours) r.say("sizes.too_long", "estimate"_a = plan.estimate);
  const auto row = [&](const std::string& key, const std::string& theirs, const std::string& ours) {
    return std::vector<std::string>{r.text("sizes." + key), theirs, ours};
  };
  const auto epochs = [](const std::vector<int64_t>& all) {
    return fmt::format("{}", fmt::join(all, " / "));
  };
  r.table({r.text("sizes.table"),
           r.texts().list("sizes.columns"),
           {row("network", r.text("sizes.reference_network"),
                fmt::format("{} ({})", study.network, with_commas(study.parameters))),
            row("image", fmt::format("{}", kReferenceImage), fmt::format("{}", plan.image)),
            row("images", with_commas(kReferenceImages), with_commas(plan.images)),
            row("epochs", epochs(kReferenceEpochs), epochs(plan.epochs))}});
  Rows speeds;
  for (const auto& s : plan.speeds)
    speeds.push_back({fmt::format("{}", s.image), fmt::format("{:.1f}", s.training),
                      fmt::format("{:.1f}", s.inference)});
  if (!speeds.empty())
    r.table({r.text("sizes.speed_table"), r.texts().list("sizes.speed_columns"), speeds});
}

void write_experiment(StudyReport& r, const Experiment& e) {
  r.section(r.text(e.name + ".title"));
  r.preformatted("vitrine study finetune --init WEIGHTS --parts " + e.name);
  r.say(e.name + ".settings");
  for (const auto* start : {&e.pretrained, &e.scratch})
    for (const auto& error : start->failures) r.say("failed", "error"_a = error);
  if (!e.pretrained.runs.empty() || !e.scratch.runs.empty()) write_curves(r, e);
}

std::vector<std::string> missing_experiments(const FinetuneStudy& study) {
  auto missing = finetune_parts();
  for (const auto& e : study.experiments) std::erase(missing, e.name);
  return missing;
}

}  // namespace

void write_finetune_report(const FinetuneStudy& study, const fs::path& folder,
                           const std::vector<std::string>& languages) {
  for (const auto& language : report_languages(finetune_texts(), languages)) {
    StudyReport r(finetune_texts(), language, folder);
    r.say("intro");
    r.missing(missing_experiments(study));
    write_sizes(r, study);
    for (const auto& e : study.experiments) write_experiment(r, e);
    if (!study.experiments.empty()) write_results(r, study);
    write_findings(r, study);
    r.save();
  }
}

}  // namespace vitrine::finetune
