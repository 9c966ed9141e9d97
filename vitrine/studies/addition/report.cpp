#include "vitrine/studies/addition/report.h"

#include <algorithm>

#include "vitrine/studies/addition/figures.h"

namespace vitrine::addition {
namespace {

/// The parts of the study that are not there, in the report's language.
std::string missing_parts(const AdditionReport& r, const AdditionStudy& study) {
  Sentences parts;
  const auto need = [&](const std::string& part, const auto& of_both, const auto& is_there) {
    for (const auto network : kArchitectures)
      if (!is_there(of_both.of(network)))
        parts.push_back(r.text("missing_parts." + part, "network"_a = r.name(network)));
  };
  const auto is_run = [](const SweepResult& sweep) { return !sweep.points.empty(); };
  const auto are_trained = [](const auto& runs) { return !runs.empty(); };
  const auto have_metrics = [](const auto& runs) {
    return std::any_of(runs.begin(), runs.end(), has_metrics);
  };
  need("first", study.first_sweep, is_run);
  need("second", study.second_sweep, is_run);
  need("rates", study.rates, is_run);
  need("tuned", study.tuned, are_trained);
  need("metrics", study.tuned, have_metrics);
  need("low_rate", study.low_rate, are_trained);
  need("held_out", study.held_out, is_run);
  need("small", study.small, is_run);
  if (study.attention.pair.empty()) parts.push_back(r.text("missing_parts.attention"));
  if (study.attention.carry_difference.empty()) parts.push_back(r.text("missing_parts.carry"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool any_point(const Sweeps& sweeps) {
  return !sweeps.cnn.points.empty() || !sweeps.transformer.points.empty();
}

std::string percent_text(const MeanStd& accuracy) { return mean_std_text(accuracy, 2, 100); }

double training_percent(double held_out) { return 100 * (1 - held_out); }

/// Both networks at the values of a key that they share.
plot::Table comparison(const AdditionReport& r, const std::string& title, const std::string& column,
                       const std::vector<SharedPoint>& points, double (*shown)(double)) {
  plot::Table table{r.text(title), {r.text(column)}};
  for (const auto network : kArchitectures)
    table.header.push_back(r.text("accuracy_of", "network"_a = r.name(network)));
  table.header.push_back(r.text("ahead"));
  for (const auto& [value, accuracy, lead] : points)
    table.rows.push_back({fmt::format("{:g}", shown(value)), percent_text(accuracy.cnn),
                          percent_text(accuracy.transformer),
                          lead ? r.name(*lead) : r.text("neither")});
  return table;
}

Sentences sweep_findings(const AdditionReport& r, const SweepResult& sweep) {
  const auto [runs, over_budget, failed] = count_runs(sweep);
  Sentences sentences = {
      r.text("sweeps.runs", "runs"_a = runs, "over_budget"_a = over_budget, "failed"_a = failed)};
  if (const auto* best = best_point(sweep)) {
    const auto accuracy = mean_std(*best, test_figure);
    sentences.push_back(r.text("sweeps.best", "accuracy"_a = 100 * accuracy.mean,
                               "std"_a = 100 * accuracy.std,
                               "settings"_a = settings_text(best->point.settings),
                               "seconds"_a = mean_std(*best, seconds_figure).mean));
  }
  Sentences ranges;
  double largest = -1;
  std::string matters;
  for (const auto* key : {kEmbedKey, kLayersKey, kChannelsKey, kHiddenKey}) {
    const auto range = accuracy_range(sweep, key);
    if (!range) continue;
    const auto setting = r.text("sweeps." + std::string(key).substr(sizeof("model.") - 1));
    ranges.push_back(r.text("sweeps.range", "setting"_a = setting, "points"_a = 100 * *range));
    if (*range > largest) largest = *range, matters = setting;
  }
  if (ranges.size() < 2) return sentences;
  sentences.push_back(
      r.text("sweeps.ranges", "ranges"_a = fmt::format("{}", fmt::join(ranges, ", "))));
  sentences.push_back(r.text("sweeps.matters", "setting"_a = matters));
  return sentences;
}

/// The accuracy of one network at a shared point, and of the other.
double percent_of(const SharedPoint& point, Architecture network) {
  return 100 * point.accuracy.of(network).mean;
}
double percent_of_other(const SharedPoint& point, Architecture network) {
  return percent_of(point,
                    network == Architecture::Cnn ? Architecture::Transformer : Architecture::Cnn);
}

std::string winner_sentence(const AdditionReport& r, const std::vector<SharedPoint>& points) {
  if (points.empty()) return r.text("rates.nothing_shared");
  const auto* cnn = strongest_lead(points, Architecture::Cnn);
  const auto* transformer = strongest_lead(points, Architecture::Transformer);
  if (cnn && transformer)
    return r.text("rates.flip", "cnn_rate"_a = cnn->value,
                  "cnn_ahead"_a = percent_of(*cnn, Architecture::Cnn),
                  "transformer_behind"_a = percent_of(*cnn, Architecture::Transformer),
                  "transformer_rate"_a = transformer->value,
                  "transformer_ahead"_a = percent_of(*transformer, Architecture::Transformer),
                  "cnn_behind"_a = percent_of(*transformer, Architecture::Cnn));
  if (!cnn && !transformer) return r.text("rates.no_lead");
  const auto& point = cnn ? *cnn : *transformer;
  return r.text("rates.one_leads", "network"_a = r.name(*point.lead), "rate"_a = point.value,
                "ahead"_a = percent_of(point, *point.lead),
                "behind"_a = percent_of_other(point, *point.lead));
}

Sentences rate_findings(const AdditionReport& r, const Sweeps& rates) {
  const auto points = shared_points(rates, kLearningRateKey);
  Sentences sentences = {winner_sentence(r, points)};
  std::vector<double> best_rates;
  for (const auto network : kArchitectures) {
    const auto* best = best_point(rates.of(network));
    if (best == nullptr) continue;
    best_rates.push_back(setting_number(best->point, kLearningRateKey));
    const auto accuracy = mean_std(*best, test_figure);
    sentences.push_back(r.text("rates.best", "network"_a = r.name(network),
                               "rate"_a = best_rates.back(), "accuracy"_a = 100 * accuracy.mean,
                               "std"_a = 100 * accuracy.std));
  }
  if (winner_flips(points))
    sentences.push_back(r.text("rates.conclusion"));
  else if (best_rates.size() == 2 && best_rates[0] != best_rates[1])
    sentences.push_back(r.text("rates.differ"));
  return sentences;
}

Sentences held_out_findings(const AdditionReport& r, const Sweeps& sweeps) {
  Sentences sentences;
  for (const auto network : kArchitectures) {
    auto line = points_along(sweeps.of(network), kHeldOutKey, "");
    std::erase_if(line, [](const auto* point) { return !measured(*point, test_figure); });
    if (line.size() < 2) continue;
    const auto pairs = [&](const PointResult* point) {
      return training_percent(setting_number(point->point, kHeldOutKey));
    };
    const auto accuracy = [](const PointResult* p) { return 100 * mean_std(*p, test_figure).mean; };
    sentences.push_back(
        r.text("held_out.ends", "network"_a = r.name(network), "few"_a = pairs(line.back()),
               "few_accuracy"_a = accuracy(line.back()), "many"_a = pairs(line.front()),
               "many_accuracy"_a = accuracy(line.front())));
  }
  const auto points = shared_points(sweeps, kHeldOutKey);
  const auto before = sentences.size();
  for (const auto network : kArchitectures)
    if (const auto* point = strongest_lead(points, network))
      sentences.push_back(r.text("held_out.lead", "network"_a = r.name(network),
                                 "pairs"_a = training_percent(point->value),
                                 "ahead"_a = percent_of(*point, network),
                                 "behind"_a = percent_of_other(*point, network)));
  if (!points.empty() && sentences.size() == before)
    sentences.push_back(r.text("held_out.no_lead"));
  return sentences;
}

/// Small networks by rising number of parameters.
plot::Table small_table(const AdditionReport& r, const Sweeps& small) {
  std::vector<std::pair<int64_t, std::vector<std::string>>> rows;
  for (const auto network : kArchitectures)
    for (const auto& point : small.of(network).points) {
      const auto accuracy = measured(point, test_figure);
      if (!accuracy) continue;
      const auto parameters = size_of(point, &RunOutcome::parameters);
      const auto bytes = static_cast<double>(size_of(point, &RunOutcome::checkpoint_bytes));
      rows.push_back(
          {parameters,
           {with_commas(parameters), r.name(network), settings_text(point.point.settings),
            fmt::format("{:.1f}", bytes / 1000), percent_text(*accuracy),
            fmt::format("{} / {}", runs_with(point, 1), point.runs.size())}});
    }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  plot::Table table{r.text("small.table")};
  for (const auto* column : {"table.parameters", "small.network", "table.settings",
                             "table.checkpoint", "accuracy_mean", "small.exact"})
    table.header.push_back(r.text(column));
  for (auto& [parameters, row] : rows) table.rows.push_back(std::move(row));
  return table;
}

// The parts of the page about sweeps, each with its heading; a part without data writes nothing.

void write_sweeps(AdditionReport& r, const Sweeps& sweeps, int round) {
  if (!any_point(sweeps)) return;
  r.section(r.text(fmt::format("sweeps.heading{}", round)));
  r.question("sweeps.question");
  r.say("sweeps.reading");
  for (const auto network : kArchitectures) {
    const auto& sweep = sweeps.of(network);
    if (sweep.points.empty()) continue;
    r.figure(fmt::format("sweep{}_{}", round, name_of(network)),
             sweep_figure(sweep, network, round, r.texts()),
             r.text("sweeps.caption", "network"_a = r.name(network)));
    r.findings(sweep_findings(r, sweep));
  }
}

void write_rates(AdditionReport& r, const Sweeps& rates) {
  if (!any_point(rates)) return;
  r.section(r.text("rates.heading"));
  r.question("rates.question");
  r.figure("learning_rate", learning_rate_figure(rates, r.texts()), r.text("rates.caption"));
  if (const auto points = shared_points(rates, kLearningRateKey); !points.empty())
    r.table(comparison(r, "rates.title", "learning_rate", points, [](double x) { return x; }));
  r.findings(rate_findings(r, rates));
}

void write_held_out(AdditionReport& r, const Sweeps& held_out) {
  if (!any_point(held_out)) return;
  r.section(r.text("held_out.heading"));
  r.question("held_out.question");
  r.figure("held_out", held_out_figure(held_out, r.texts()), r.text("held_out.caption"));
  if (const auto points = shared_points(held_out, kHeldOutKey); !points.empty())
    r.table(comparison(r, "held_out.title", "held_out.pairs_column",
                       {points.rbegin(), points.rend()}, training_percent));
  r.findings(held_out_findings(r, held_out));
}

void write_small(AdditionReport& r, const Sweeps& small) {
  if (!any_point(small)) return;
  r.section(r.text("small.heading"));
  r.question("small.question");
  r.table(small_table(r, small));
  Sentences sentences;
  const auto add = [&](const std::string& key, Architecture network, const PointResult& point,
                       double accuracy) {
    sentences.push_back(
        r.text(key, "network"_a = r.name(network),
               "parameters"_a = with_commas(size_of(point, &RunOutcome::parameters)),
               "settings"_a = settings_text(point.point.settings),
               "good"_a = runs_with(point, accuracy), "runs"_a = point.runs.size()));
  };
  for (const auto network : kArchitectures) {
    constexpr double kNearly = 0.99;
    const auto& sweep = small.of(network);
    const auto *perfect = smallest_point(sweep, 1), *nearly = smallest_point(sweep, kNearly);
    if (perfect != nullptr)
      add("small.all_right", network, *perfect, 1);
    else if (!sweep.points.empty())
      sentences.push_back(r.text("small.none", "network"_a = r.name(network)));
    if (nearly != perfect) add("small.nearly", network, *nearly, kNearly);
  }
  r.findings(sentences);
}

}  // namespace

void write_addition_report(const AdditionStudy& study, const fs::path& folder,
                           const std::vector<std::string>& languages) {
  for (const auto& language : report_languages(addition_texts(), languages)) {
    AdditionReport r(addition_texts(), language, folder);
    const auto missing = missing_parts(r, study);
    for (const auto& text : r.texts().list("intro")) r.paragraph(text);
    r.list(r.texts().list("glossary"));
    if (!missing.empty()) r.say("missing", "parts"_a = missing);
    write_sweeps(r, study.first_sweep, 1);
    write_sweeps(r, study.second_sweep, 2);
    write_rates(r, study.rates);
    write_tuned_networks(r, study.tuned);
    write_low_rate_networks(r, study.low_rate);
    write_held_out(r, study.held_out);
    write_small(r, study.small);
    write_network_attention(r, study.attention);
    r.save();
    auto tables = fmt::format("## {}\n", r.text("title")) + r.tables();
    if (!missing.empty()) tables += "\n" + r.text("missing_tables", "parts"_a = missing) + "\n";
    write_file_atomically(folder / localized_file("results", language, ".md"), tables);
  }
}

}  // namespace vitrine::addition
