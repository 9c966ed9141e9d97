#include <algorithm>
#include <cmath>

#include "vitrine/core/progress.h"
#include "vitrine/studies/zoo/study.h"

namespace vitrine::zoo {
namespace {

using namespace fmt::literals;

constexpr double kPercent = 100, kMinute = 60, kMillion = 1e6, kMegabyte = 1e6;

std::string name_in(const StudyReport& r, const std::string& network) {
  return r.text("networks." + network);
}

/// The networks that have been trained, in the order of `network_names`.
std::vector<std::pair<std::string, const TrainedNetwork*>> trained(const ZooStudy& study) {
  std::vector<std::pair<std::string, const TrainedNetwork*>> all;
  for (const auto& name : network_names())
    if (const auto found = study.networks.find(name); found != study.networks.end())
      all.emplace_back(name, &found->second);
  return all;
}

/// A network looks alike in all figures: two neighbours in `network_names` share a colour, and the
/// second of them is dashed.
plot::Series series_of(const StudyReport& r, const std::string& network) {
  constexpr int64_t kPairs = 10;  // those behind them have colours of their own
  const auto& names = network_names();
  const auto place = std::find(names.begin(), names.end(), network) - names.begin();
  const bool second = place < kPairs && place % 2 == 1;
  return {.name = name_in(r, network),
          .stroke = second ? plot::Stroke::Dashed : plot::Stroke::Solid,
          .color = place < kPairs ? place / 2 : place - kPairs / 2};
}

/// The mean over the seeds and over short spans of time.
void add_curves(plot::Series& series, const std::vector<TimeCurve>& curves, double scale) {
  constexpr int64_t kSpans = 25;
  const auto mean = binned(joined(curves), kSpans);
  for (size_t i = 0; i < mean.seconds.size(); ++i) {
    series.x.push_back(mean.seconds[i] / kMinute);
    series.y.push_back(scale * mean.values[i]);
  }
}

plot::Chart time_chart(const StudyReport& r, const std::string& key) {
  return {.title = r.text("time." + key),
          .x = {.label = r.text("time.minutes"), .low = 0},
          .y = {.label = r.text("time." + key + "_axis")},
          .width = 480,
          .height = 400};
}

void write_time(StudyReport& r, const ZooStudy& study) {
  r.section(r.text("time.heading"));
  r.say("time.how", "minutes"_a = study.minutes);
  auto accuracy = time_chart(r, "accuracy"), loss = time_chart(r, "loss");
  for (const auto& [name, network] : trained(study)) {
    auto measured = series_of(r, name), learned = measured;
    learned.name = "";  // the legend of the first panel does for both
    add_curves(measured, network->accuracy, kPercent);
    add_curves(learned, network->loss, /*scale=*/1);
    if (!measured.y.empty()) accuracy.series.push_back(measured);
    if (!learned.y.empty()) loss.series.push_back(learned);
  }
  plot::Figure figure{.title = r.text("time.title"), .columns = 2};
  for (const auto& chart : {accuracy, loss})
    if (!chart.series.empty()) figure.panels.push_back(chart);
  if (!figure.panels.empty()) r.figure("time", figure, r.text("time.caption"));
}

/// Test accuracy over a number of the network; a dot for each, with its standard deviation.
plot::Chart size_chart(const StudyReport& r, const ZooStudy& study, const std::string& key,
                       int64_t TrainedNetwork::*size) {
  plot::Chart chart{.title = r.text("size." + key),
                    .x = {.label = r.text("size." + key + "_axis"),
                          .log = size == &TrainedNetwork::parameters},
                    .y = {.label = r.text("accuracy")},
                    .width = 480,
                    .height = 400};
  for (const auto& [name, network] : trained(study)) {
    const auto value = measured(network->point, test_figure);
    if (!value) continue;
    auto series = series_of(r, name);
    series.mark = plot::Mark::Points;
    series.x = {static_cast<double>(network->*size) / kMillion};
    series.y = {kPercent * value->mean};
    if (value->count > 1) series.error = {kPercent * value->std};
    chart.series.push_back(series);
  }
  return chart;
}

void write_size(StudyReport& r, const ZooStudy& study) {
  r.section(r.text("size.heading"));
  plot::Figure figure{.title = r.text("size.title"), .columns = 2};
  const auto parameters = size_chart(r, study, "parameters", &TrainedNetwork::parameters);
  auto multiply_adds = size_chart(r, study, "multiply_adds", &TrainedNetwork::multiply_adds);
  for (auto& series : multiply_adds.series) series.name = "";  // as in `write_time`
  for (const auto& chart : {parameters, multiply_adds})
    if (!chart.series.empty()) figure.panels.push_back(chart);
  if (!figure.panels.empty()) r.figure("size", figure, r.text("size.caption"));
}

/// A network and its accuracy in percent.
struct Score {
  std::string name;
  const TrainedNetwork* network = nullptr;
  double accuracy = 0;
  double images = 0;  // that a run saw
};

/// Best first; networks of which all runs failed are left out.
std::vector<Score> ranking(const ZooStudy& study) {
  std::vector<Score> scores;
  for (const auto& [name, network] : trained(study)) {
    const auto value = measured(network->point, test_figure);
    const auto steps =
        mean_std(network->point, [](const RunOutcome& o) { return static_cast<double>(o.steps); });
    if (value)
      scores.push_back({name, network, kPercent * value->mean,
                        steps.mean * static_cast<double>(network->batch)});
  }
  std::stable_sort(scores.begin(), scores.end(),
                   [](const Score& a, const Score& b) { return a.accuracy > b.accuracy; });
  return scores;
}

/// The mean peak of the runs in megabytes; "–" if a run did not record it.
std::string memory_cell(const PointResult& point) {
  const auto peak = measured(point, [](const RunOutcome& o) {
    return o.peak_bytes > 0 ? static_cast<double>(o.peak_bytes) : std::nan("");
  });
  return peak ? fmt::format("{:.0f}", peak->mean / kMegabyte) : "–";
}

std::string inference_cell(const std::optional<SpeedPart>& part, const std::string& network) {
  if (part)
    for (const auto& speed : part->networks)
      if (speed.network == network) return three_digits(speed.images_per_second);
  return "–";
}

void write_tables(StudyReport& r, const ZooStudy& study, const std::vector<Score>& scores) {
  r.section(r.text("tables.heading"));
  plot::Table accuracies{r.text("tables.accuracies", "minutes"_a = study.minutes),
                         r.texts().list("tables.accuracy_columns"),
                         {}};
  plot::Table costs{r.text("tables.costs"), r.texts().list("tables.cost_columns"), {}};
  for (const auto& [name, network, accuracy, images] : scores) {
    accuracies.rows.push_back(
        {name_in(r, name), network->model,
         mean_std_text(mean_std(network->point, test_figure), 2, kPercent),
         mean_std_text(mean_std(network->point, validation_figure), 2, kPercent),
         with_commas(std::llround(images))});
    const auto speed = mean_std(network->point, [one = network](const RunOutcome& o) {
      return one->training_images_per_second(o);
    });
    costs.rows.push_back({name_in(r, name), with_commas(network->parameters),
                          fmt::format("{:.1f}", network->multiply_adds / kMillion),
                          three_digits(speed.mean), inference_cell(study.speed, name),
                          memory_cell(network->point)});
  }
  r.table(accuracies);
  r.table(costs);
  r.say("tables.how");
  if (study.speed)
    r.say("tables.speed", "batch"_a = study.speed->batch, "threads"_a = study.speed->threads);
}

/// Which place in the ranking saw the most images, and which the fewest.
void write_finding(StudyReport& r, const std::vector<Score>& scores) {
  if (scores.size() < 2) return;
  std::vector<std::string> words;
  for (const auto& score : scores)
    words.push_back(
        r.text("score", "network"_a = name_in(r, score.name), "accuracy"_a = score.accuracy));
  const auto [fewest, most] =
      std::minmax_element(scores.begin(), scores.end(),
                          [](const Score& a, const Score& b) { return a.images < b.images; });
  const auto seen = [&](const std::string& key, const auto& score) {
    return r.text(key, "network"_a = name_in(r, score->name),
                  "images"_a = with_commas(std::llround(score->images)),
                  "place"_a = score - scores.begin() + 1, "count"_a = scores.size());
  };
  r.finding({r.text("ranking", "scores"_a = fmt::format("{}", fmt::join(words, ", "))),
             seen("most_images", most), seen("fewest_images", fewest)});
}

void write_failures(StudyReport& r, const ZooStudy& study) {
  std::vector<SweepRun> runs;
  for (const auto& [name, network] : study.networks)
    for (auto run : network.point.runs) {
      run.error = fmt::format("{}: {}", name_in(r, name), run.error);
      runs.push_back(run);
    }
  r.failures(runs);
}

std::vector<std::string> missing_parts(const ZooStudy& study) {
  auto missing = zoo_parts();
  std::erase_if(missing, [&](const auto& part) {
    return study.networks.contains(part) || (part == zoo_parts().back() && study.speed);
  });
  return missing;
}

}  // namespace

void write_zoo_report(const ZooStudy& study, const fs::path& folder,
                      const std::vector<std::string>& languages) {
  const auto scores = ranking(study);
  for (const auto& language : report_languages(zoo_texts(), languages)) {
    StudyReport r(zoo_texts(), language, folder);
    r.say("intro", "minutes"_a = study.minutes);
    r.preformatted("vitrine study zoo");
    r.missing(missing_parts(study));
    if (!study.networks.empty()) {
      write_finding(r, scores);
      write_failures(r, study);
      write_time(r, study);
      write_size(r, study);
      write_tables(r, study, scores);
    }
    r.save();
  }
}

}  // namespace vitrine::zoo
