#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vitrine/studies/inductive_bias/study.h"
#include "vitrine/studies/sweep_figure.h"

namespace vitrine::inductive_bias {
namespace {

using namespace fmt::literals;
using Layers = std::vector<std::vector<double>>;

constexpr double kPercent = 100;

void start(StudyReport& r, const std::string& section, const std::string& parts) {
  r.section(r.text(section + ".heading"));
  r.preformatted("vitrine study inductive-bias --parts " + parts);
  r.say(section + ".how");
}

std::string name_in(const StudyReport& r, const std::string& network) {
  return r.text("networks." + network);
}

/// A network keeps its colour in all figures.
int64_t color_of(const std::string& network) {
  const auto& names = network_names();
  return std::find(names.begin(), names.end(), network) - names.begin();
}

double percent_of_images(const SweepPoint& point) {
  return kPercent * setting_number(point, kFractionKey);
}

/// The points of a sweep by rising fraction.
PointLine by_fraction(const SweepResult& sweep) {
  return points_along(sweep, kFractionKey, /*axis=*/"");
}

double test_percent(const RunOutcome& outcome) { return kPercent * test_figure(outcome); }

/// Accuracy over the fraction, a line for each network.
plot::Chart accuracy_chart(const StudyReport& r, const NetworkSweeps& sweeps,
                           const std::string& title) {
  plot::Chart chart{.title = r.text(title),
                    .x = {.label = r.text("fraction"), .log = true},
                    .y = {.label = r.text("accuracy")},
                    .width = 440,
                    .height = 340};
  for (const auto& network : network_names()) {
    const auto sweep = sweeps.find(network);
    if (sweep == sweeps.end()) continue;
    auto series = mean_series(by_fraction(sweep->second), percent_of_images, test_percent);
    series.name = name_in(r, network);
    series.markers = true;
    series.color = color_of(network);
    if (!series.y.empty()) chart.series.push_back(series);
  }
  return chart;
}

void write_accuracy_figure(StudyReport& r, const InductiveBiasStudy& study) {
  plot::Figure figure{.title = r.text("accuracy_figure.title"), .columns = 2};
  for (const auto& [sweeps, part] : {std::pair(&study.updates, "updates"), {&study.time, "time"}})
    if (auto chart = accuracy_chart(r, *sweeps, std::string(part) + ".heading");
        !chart.series.empty())
      figure.panels.push_back(chart);
  if (!figure.panels.empty()) r.figure("accuracy", figure, r.text("accuracy_figure.caption"));
}

double updates_figure(const RunOutcome& outcome) { return static_cast<double>(outcome.steps); }

/// The mean of a number of the runs; "–" without any.
std::string whole_cell(const PointResult& point, const RunFigure& figure) {
  const auto value = measured(point, figure);
  return value ? fmt::format("{:.0f}", value->mean) : "–";
}

void write_accuracy_tables(StudyReport& r, const std::string& part, const NetworkSweeps& sweeps) {
  const auto& some = by_fraction(sweeps.begin()->second);
  plot::Table accuracy{r.text("accuracy_table"), {r.text("network"), r.text("parameters")}, {}};
  for (const auto* point : some)
    accuracy.header.push_back(fmt::format("{:g} %", percent_of_images(point->point)));
  plot::Table cost{r.text(part + ".table"), r.texts().list("cost_columns"), {}};
  for (const auto& network : network_names()) {
    const auto sweep = sweeps.find(network);
    if (sweep == sweeps.end()) continue;
    const auto points = by_fraction(sweep->second);
    std::vector<std::string> row = {name_in(r, network), "–"};
    for (const auto* point : points) {
      for (const auto& run : point->runs)
        if (run.outcome) row[1] = with_commas(run.outcome->parameters);
      row.push_back(mean_std_text(mean_std(*point, test_figure), 2, kPercent));
    }
    accuracy.rows.push_back(row);
    cost.rows.push_back({name_in(r, network), whole_cell(*points.back(), updates_figure),
                         whole_cell(*points.back(), seconds_figure)});
  }
  r.table(accuracy);
  r.table(cost);
}

/// A network's accuracy in percent at one fraction.
struct Score {
  std::string network;
  double accuracy = 0;
};

/// The networks at one place of their sweeps (0: the smallest fraction), best first.
std::vector<Score> ranking(const NetworkSweeps& sweeps, bool largest) {
  std::vector<Score> scores;
  for (const auto& [network, sweep] : sweeps) {
    const auto points = by_fraction(sweep);
    if (const auto value = measured(largest ? *points.back() : *points.front(), test_figure))
      scores.push_back({network, kPercent * value->mean});
  }
  std::sort(scores.begin(), scores.end(),
            [](const Score& a, const Score& b) { return a.accuracy > b.accuracy; });
  return scores;
}

/// How far the ViT is behind the best; nothing if it has no score.
std::optional<double> gap_of_vit(const std::vector<Score>& scores) {
  for (const auto& score : scores)
    if (score.network == network_names().front()) return scores.front().accuracy - score.accuracy;
  return std::nullopt;
}

void write_accuracy_finding(StudyReport& r, const NetworkSweeps& sweeps) {
  std::vector<std::string> sentences;
  std::vector<std::optional<double>> gaps;
  const auto& points = by_fraction(sweeps.begin()->second);
  for (const bool largest : {false, true}) {
    const auto scores = ranking(sweeps, largest);
    if (scores.empty()) return;
    std::vector<std::string> words;
    for (const auto& [network, accuracy] : scores)
      words.push_back(r.text("score", "network"_a = name_in(r, network), "accuracy"_a = accuracy));
    const auto* point = largest ? points.back() : points.front();
    sentences.push_back(r.text("ranking", "percent"_a = percent_of_images(point->point),
                               "scores"_a = fmt::format("{}", fmt::join(words, ", "))));
    gaps.push_back(gap_of_vit(scores));
  }
  if (gaps[0] && gaps[1])
    sentences.push_back(r.text("gap", "first"_a = *gaps[0], "last"_a = *gaps[1]));
  r.finding(sentences);
}

void write_trained(StudyReport& r, const std::string& part, const NetworkSweeps& sweeps) {
  start(r, part, part);
  write_accuracy_tables(r, part, sweeps);
  std::vector<SweepRun> runs;
  for (const auto& [network, sweep] : sweeps)
    for (auto& run : all_runs(sweep)) runs.push_back(std::move(run));
  r.failures(runs);
  write_accuracy_finding(r, sweeps);
}

/// A dot for each head: its distance in percent of the side over the place of its layer.
plot::Series head_series(const Layers& layers) {
  plot::Series series{.mark = plot::Mark::Points};
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (const double distance : layers[layer]) {
      series.x.push_back(static_cast<double>(layer));
      series.y.push_back(kPercent * distance);
    }
  return series;
}

double mean_of(const std::vector<double>& values) { return mean_std(values).mean; }

/// Network by network, with all its seeds.
std::vector<std::pair<std::string, std::vector<const Locality*>>> by_network(
    const LocalityPart& part) {
  std::vector<std::pair<std::string, std::vector<const Locality*>>> groups;
  for (const auto& one : part.networks) {
    if (groups.empty() || groups.back().first != one.network || one.seed == 0)
      groups.emplace_back(one.network, std::vector<const Locality*>{});
    groups.back().second.push_back(&one);
  }
  return groups;
}

std::string title_of(const StudyReport& r, const Locality& one) {
  return one.seed == 0 ? r.text("locality.pretrained", "model"_a = one.network)
                       : name_in(r, one.network);
}

plot::Chart locality_chart(const StudyReport& r, const std::vector<const Locality*>& seeds) {
  constexpr int64_t kBefore = 1, kAfter = 0, kLine = 6;
  const auto last = static_cast<double>(seeds[0]->after.size()) - 1;
  plot::Chart chart{.title = title_of(r, *seeds[0]),
                    .x = {.label = r.text("locality.layer")},
                    .y = {.label = r.text("locality.distance"), .low = 0},
                    .width = 300,
                    .height = 300};
  for (size_t layer = 1; layer <= seeds[0]->after.size(); ++layer)
    chart.x.names.push_back(std::to_string(layer));
  const auto add = [&](Layers Locality::*moment, const std::string& name, int64_t color) {
    plot::Series all{.name = r.text(name), .mark = plot::Mark::Points, .color = color};
    for (const auto* one : seeds) {
      const auto series = head_series(one->*moment);
      all.x.insert(all.x.end(), series.x.begin(), series.x.end());
      all.y.insert(all.y.end(), series.y.begin(), series.y.end());
    }
    if (!all.y.empty()) chart.series.push_back(all);
  };
  add(&Locality::before, "locality.before", kBefore);
  add(&Locality::after, "locality.after", kAfter);
  const double uniform = kPercent * seeds[0]->uniform;
  chart.series.push_back({.name = r.text("locality.uniform"),
                          .x = {0, last},
                          .y = {uniform, uniform},
                          .stroke = plot::Stroke::Dotted,
                          .color = kLine});
  return chart;
}

/// The mean over the heads and the seeds of one layer, in percent; `layer` -1 is the last.
double layer_percent(const std::vector<const Locality*>& seeds, Layers Locality::*moment,
                     bool last) {
  std::vector<double> means;
  for (const auto* one : seeds) {
    const auto& layers = one->*moment;
    if (!layers.empty()) means.push_back(kPercent * mean_of(last ? layers.back() : layers.front()));
  }
  return means.empty() ? std::nan("") : mean_of(means);
}

std::string percent_cell(double value) {
  return std::isfinite(value) ? fmt::format("{:.1f}", value) : "–";
}

void write_locality(StudyReport& r, const LocalityPart& part) {
  start(r, "locality", "locality");
  r.say("locality.images", "images"_a = part.images, "percent"_a = kPercent * part.fraction);
  plot::Figure figure{.title = r.text("locality.title"), .columns = 0};
  plot::Table table{r.text("locality.table"), r.texts().list("locality.columns"), {}};
  std::vector<std::string> sentences;
  const auto groups = by_network(part);
  figure.columns = std::min<int64_t>(std::ssize(groups), 4);
  for (const auto& [network, seeds] : groups) {
    figure.panels.push_back(locality_chart(r, seeds));
    std::vector<std::string> row = {title_of(r, *seeds[0])};
    for (const auto moment : {&Locality::before, &Locality::after})
      for (const bool last : {false, true})
        row.push_back(percent_cell(layer_percent(seeds, moment, last)));
    row.push_back(percent_cell(kPercent * seeds[0]->uniform));
    table.rows.push_back(row);
    if (seeds[0]->seed != 0)
      sentences.push_back(
          r.text("locality.finding", "network"_a = title_of(r, *seeds[0]),
                 "before"_a = layer_percent(seeds, &Locality::before, /*last=*/false),
                 "after"_a = layer_percent(seeds, &Locality::after, /*last=*/false),
                 "uniform"_a = kPercent * seeds[0]->uniform));
  }
  r.figure("locality", figure, r.text("locality.caption"));
  r.table(table);
  r.finding(sentences);
}

/// One number of all seeds over the shift, in percent: mean and standard deviation.
plot::Series shift_series(const ShiftPart& part, const std::string& network,
                          std::vector<double> ShiftResponse::*values) {
  std::vector<std::vector<double>> seeds;
  for (const auto& one : part.networks)
    if (one.network == network) seeds.push_back(one.*values);
  plot::Series series{.markers = true, .color = color_of(network)};
  for (const auto& here : mean_std_by_index(seeds)) {
    series.x.push_back(static_cast<double>(series.x.size()));
    series.y.push_back(kPercent * here.mean);
    series.error.push_back(kPercent * here.std);
  }
  return series;
}

void write_shifts(StudyReport& r, const ShiftPart& part) {
  start(r, "shifts", "shifts");
  r.say("shifts.images", "images"_a = part.images, "percent"_a = kPercent * part.fraction);
  plot::Figure figure{.title = r.text("shifts.title"), .columns = 3};
  const std::vector<std::pair<std::string, std::vector<double> ShiftResponse::*>> panels = {
      {"changed", &ShiftResponse::changed},
      {"distance", &ShiftResponse::distance},
      {"accuracy", &ShiftResponse::accuracy}};
  for (const auto& [name, values] : panels) {
    plot::Chart chart{.title = r.text("shifts." + name),
                      .x = {.label = r.text("shifts.pixels")},
                      .y = {.label = r.text("shifts." + name + "_axis"), .low = 0},
                      .width = 360,
                      .height = 320};
    for (const auto& network : network_names()) {
      auto series = shift_series(part, network, values);
      series.name = name_in(r, network);
      if (!series.y.empty()) chart.series.push_back(series);
    }
    figure.panels.push_back(chart);
  }
  r.figure("shifts", figure, r.text("shifts.caption"));
  plot::Table table{r.text("shifts.table"), {r.text("network")}, {}};
  std::vector<std::string> words;
  for (const auto& network : network_names()) {
    const auto series = shift_series(part, network, &ShiftResponse::changed);
    if (series.y.empty()) continue;
    std::vector<std::string> row = {name_in(r, network)};
    for (size_t pixels = 1; pixels < series.y.size(); ++pixels)
      row.push_back(fmt::format("{:.1f}", series.y[pixels]));
    table.rows.push_back(row);
    words.push_back(
        r.text("score", "network"_a = name_in(r, network), "accuracy"_a = series.y.at(1)));
    while (table.header.size() < row.size())
      table.header.push_back(r.text("shifts.column", "pixels"_a = table.header.size()));
  }
  r.table(table);
  r.finding({r.text("shifts.finding", "scores"_a = fmt::format("{}", fmt::join(words, ", ")))});
}

std::vector<std::string> missing_parts(const InductiveBiasStudy& study) {
  auto missing = inductive_bias_parts();
  const auto done = [](const NetworkSweeps& s) { return s.size() == network_names().size(); };
  std::erase_if(missing, [&](const auto& part) {
    return (part == "updates" && done(study.updates)) || (part == "time" && done(study.time)) ||
           (part == "locality" && study.locality) || (part == "shifts" && study.shifts);
  });
  return missing;
}

}  // namespace

void write_inductive_bias_report(const InductiveBiasStudy& study, const fs::path& folder,
                                 const std::vector<std::string>& languages) {
  for (const auto& language : report_languages(inductive_bias_texts(), languages)) {
    StudyReport r(inductive_bias_texts(), language, folder);
    r.say("intro");
    r.missing(missing_parts(study));
    write_accuracy_figure(r, study);
    if (!study.updates.empty()) write_trained(r, "updates", study.updates);
    if (!study.time.empty()) write_trained(r, "time", study.time);
    if (study.locality && !study.locality->networks.empty()) write_locality(r, *study.locality);
    if (study.shifts && !study.shifts->networks.empty()) write_shifts(r, *study.shifts);
    r.save();
  }
}

}  // namespace vitrine::inductive_bias
