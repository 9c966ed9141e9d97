#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "vitrine/studies/addition/figures.h"
#include "vitrine/studies/addition/report.h"

namespace vitrine::addition {
namespace {

using Runs = std::vector<TrainedNetwork>;
using Reference = PerArchitecture<std::map<std::string, std::string>>;

/// What the document that the study follows reports of its final networks, as it gives it.
const Reference kTunedReference = {{{"settings", "embed 128, layers 2, channels 64, lr 0.008"},
                                    {"right", "10,000"},
                                    {"error_mean", "0"},
                                    {"error_std", "0"},
                                    {"predict_time", "9,300"},
                                    {"checkpoint", "482"},
                                    {"loss", "0.0000"},
                                    {"epoch", "650"}},
                                   {{"settings", "embed 8, layers 2, hidden 32, lr 0.006"},
                                    {"right", "10,000"},
                                    {"error_mean", "0"},
                                    {"error_std", "0"},
                                    {"predict_time", "14,660"},
                                    {"checkpoint", "23"},
                                    {"loss", "0.0001"},
                                    {"epoch", "5,000"}}};

/// What it reports of networks trained with a low learning rate; times are for 1,000 epochs.
const Reference kLowRateReference = {{{"settings", "embed 4096, layers 2, channels 64"},
                                      {"right", "7,849"},
                                      {"error_mean", "-0.49"},
                                      {"error_std", "13.53"},
                                      {"train_time", "1,010"}},
                                     {{"settings", "embed 4096, layers 2, hidden 64"},
                                      {"right", "8,221"},
                                      {"error_mean", "-0.59"},
                                      {"error_std", "13.55"},
                                      {"train_time", "208"}}};

using RunValue = std::function<double(const TrainedNetwork&)>;

MeanStd over_runs(const Runs& runs, const RunValue& value) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(value(run));
  return mean_std(values);
}

auto mean_cell(int decimals, const RunValue& value) {
  return [=](const Runs& runs) { return mean_std_text(over_runs(runs, value), decimals); };
}

/// A number of each run, in the order of the runs: "1 / 2 / 3".
auto each_cell(int64_t (*number)(const TrainedNetwork&)) {
  return [=](const Runs& runs) {
    std::vector<std::string> parts;
    for (const auto& run : runs) parts.push_back(with_commas(number(run)));
    return fmt::format("{}", fmt::join(parts, " / "));
  };
}

int64_t right_of(const TrainedNetwork& run) { return right_answers(run.answers); }

struct TableRow {
  std::string key;
  std::function<std::string(const Runs&)> cell;
};
const std::vector<TableRow> kRows = {
    {"settings", [](const Runs& runs) { return settings_text(runs[0].settings); }},
    {"seeds", each_cell([](const auto& run) { return run.seed; })},
    {"right", each_cell(right_of)},
    {"error_mean", mean_cell(2, [](const auto& run) { return error_stats(run.answers).mean; })},
    {"error_std", mean_cell(2, [](const auto& run) { return error_stats(run.answers).std; })},
    {"train_time", mean_cell(1, [](const auto& run) { return run.train_seconds; })},
    {"predict_time", mean_cell(1, [](const auto& run) { return run.predict_milliseconds; })},
    {"checkpoint",
     [](const Runs& runs) {
       return fmt::format("{:.1f}", static_cast<double>(runs[0].bytes) / 1000);
     }},
    {"parameters", [](const Runs& runs) { return with_commas(runs[0].parameters); }}};

/// One row per quantity, up to `last`; for each network a column beside that of the reference.
plot::Table network_table(const AdditionReport& r, const std::string& title,
                          const std::string& last, const Networks& networks,
                          const Reference& reference) {
  plot::Table table{r.text(title), {r.text("table.quantity")}};
  for (const auto& row : kRows) {
    table.rows.push_back({r.text("table." + row.key)});
    if (row.key == last) break;
  }
  for (const auto network : kArchitectures) {
    if (networks.of(network).empty()) continue;
    table.header.push_back(r.name(network));
    table.header.push_back(r.text("table.reference", "network"_a = r.name(network)));
    for (size_t i = 0; i < table.rows.size(); ++i) {
      const auto known = reference.of(network).find(kRows[i].key);
      auto quoted = known == reference.of(network).end() ? "" : known->second;
      if (kRows[i].key == "train_time" && !quoted.empty())
        quoted = r.text("low_rate.per_1000_epochs", "seconds"_a = quoted);
      table.rows[i].push_back(kRows[i].cell(networks.of(network)));
      table.rows[i].push_back(quoted);
    }
  }
  return table;
}

std::string right_sentence(const AdditionReport& r, Architecture network, const Runs& runs) {
  std::vector<int64_t> right;
  for (const auto& run : runs) right.push_back(right_of(run));
  const auto [least, most] = std::minmax_element(right.begin(), right.end());
  return r.text(*least == kAdditionPairs ? "tuned.all_right" : "tuned.right_range",
                "network"_a = r.name(network), "runs"_a = runs.size(),
                "least"_a = with_commas(*least), "most"_a = with_commas(*most),
                "exact"_a = std::count(right.begin(), right.end(), kAdditionPairs));
}

/// What `sentences` adds to a list for each network that has runs.
template <typename Both, typename Add>
Sentences of_each(const Both& both, const Add& add) {
  Sentences sentences;
  for (const auto network : kArchitectures)
    if (!both.of(network).empty()) add(sentences, network, both.of(network));
  return sentences;
}

void write_loss(AdditionReport& r, const Networks& networks) {
  PerArchitecture<std::vector<std::vector<MetricsLine>>> runs;
  for (const auto network : kArchitectures)
    for (const auto& run : networks.of(network))
      if (has_metrics(run)) runs.of(network).push_back(read_metrics(run.metrics));
  if (runs.cnn.empty() && runs.transformer.empty()) return;
  r.question("loss.question");
  r.figure("training_loss", loss_figure(runs, r.texts()), r.text("loss.caption"));
  r.findings(of_each(runs, [&](auto& sentences, auto network, const auto& lines) {
    double loss = 0, epochs = 0, seconds = 0;  // of the last epochs
    const auto n = static_cast<double>(lines.size());
    for (const auto& run : lines) {
      const auto last = std::find_if(run.rbegin(), run.rend(),
                                     [](const MetricsLine& line) { return line.kind == "epoch"; });
      loss += last->value("train_loss") / n;
      epochs += static_cast<double>(last->epoch) / n;
      seconds += last->value("seconds") / n;
    }
    const auto& reference = kTunedReference.of(network);
    sentences.push_back(r.text("loss.last", "network"_a = r.name(network), "loss"_a = loss,
                               "epochs"_a = epochs, "seconds"_a = seconds, "runs"_a = lines.size(),
                               "reference_loss"_a = reference.at("loss"),
                               "reference_epoch"_a = reference.at("epoch")));
  }));
}

/// The run with the median number of right answers (of two, the lower).
const TrainedNetwork& median_run(const Runs& runs) {
  std::vector<const TrainedNetwork*> sorted;
  for (const auto& run : runs) sorted.push_back(&run);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* one, const auto* other) {
    return right_of(*one) < right_of(*other);
  });
  return *sorted[(sorted.size() - 1) / 2];
}

/// The fraction of the errors that are off by exactly `size`, to either side, in %.
double percent_off_by(const std::vector<ErrorCount>& errors, int size) {
  double fraction = 0;
  for (const auto& error : errors)
    if (std::abs(error.value) == size) fraction += error.fraction;
  return 100 * fraction;
}

void write_error_maps(AdditionReport& r, const Networks& networks, const AnswersOfBoth& answers,
                      const std::string& prefix) {
  r.question("errors.map.question");
  for (const auto network : kArchitectures) {
    const auto& runs = networks.of(network);
    if (runs.empty()) continue;
    const auto& run = median_run(runs);
    r.figure(prefix + "errors_" + name_of(network),
             error_map_figure(run.answers, network, r.texts()),
             r.text("errors.map.caption", "network"_a = r.name(network), "seed"_a = run.seed,
                    "runs"_a = runs.size()));
  }
  r.findings(of_each(answers, [&](auto& sentences, auto network, const auto& runs) {
    const auto errors = top_errors(runs, kAdditionPairs);
    const double tens = percent_off_by(errors, 10), nineties = percent_off_by(errors, 90);
    sentences.push_back(r.text(errors.empty() ? "errors.map.nothing_wrong" : "errors.map.tens",
                               "network"_a = r.name(network), "tens"_a = tens,
                               "nineties"_a = nineties,
                               "others"_a = std::max(0.0, 100 - tens - nineties)));
    if (tens > 50)
      sentences.push_back(r.text("errors.map.mostly_carry", "network"_a = r.name(network)));
  }));
}

void write_error_boxes(AdditionReport& r, const Networks& networks, const AnswersOfBoth& answers,
                       const std::string& prefix) {
  r.question("errors.box.question");
  r.figure(prefix + "errors_box", error_box_figure(answers, r.texts()),
           r.text("errors.box.caption"));
  bool flat = any_wrong(answers);
  auto sentences = of_each(networks, [&](auto& all, auto network, const Runs& runs) {
    const auto mean = over_runs(runs, [](const auto& x) { return error_stats(x.answers).mean; });
    const auto std = over_runs(runs, [](const auto& x) { return error_stats(x.answers).std; });
    flat = flat && over_runs(runs, right_of).mean > 0.75 * kAdditionPairs;
    all.push_back(r.text("errors.box.spread", "network"_a = r.name(network),
                         "mean"_a = std::round(100 * mean.mean) / 100 + 0.0,  // never "-0.00"
                         "std"_a = std.mean));
  });
  if (flat) sentences.push_back(r.text("errors.box.flat"));
  r.findings(sentences);
}

/// The five most frequent errors of each network over all its runs.
plot::Table top_errors_table(const AdditionReport& r, const AnswersOfBoth& answers,
                             const std::string& networks) {
  constexpr size_t kTop = 5;
  plot::Table table{r.text("errors.top.table", "networks"_a = r.text(networks)),
                    {r.text("errors.top.rank")}};
  for (const auto network : kArchitectures) {
    const auto top = top_errors(answers.of(network), kTop);
    if (top.empty()) continue;
    for (size_t i = table.rows.size(); i < top.size(); ++i) {
      table.rows.push_back({std::to_string(i + 1)});
      table.rows.back().resize(table.header.size());
    }
    for (size_t i = 0; i < top.size(); ++i)
      table.rows[i].insert(table.rows[i].end(),
                           {fmt::format("{:+}", top[i].value), with_commas(top[i].count),
                            fmt::format("{:.1f}", 100 * top[i].fraction)});
    for (const auto* column : {"0", "1", "2"})
      table.header.push_back(
          r.text(std::string("errors.top.columns.") + column, "network"_a = r.name(network)));
    for (auto& row : table.rows) row.resize(table.header.size());
  }
  return table;
}

/// Figures, tables and findings about the answers of trained networks; `prefix` starts the names of
/// the figures' files, `title` is the key of the networks' name in the table.
void write_errors(AdditionReport& r, const Networks& networks, const std::string& prefix,
                  const std::string& title) {
  AnswersOfBoth answers;
  for (const auto network : kArchitectures)
    for (const auto& run : networks.of(network)) answers.of(network).push_back(run.answers);
  write_error_maps(r, networks, answers, prefix);
  write_error_boxes(r, networks, answers, prefix);
  if (!any_wrong(answers)) return;

  r.question("errors.top.question");
  r.figure(prefix + "errors_top", top_errors_figure(answers, r.texts()),
           r.text("errors.top.caption"));
  r.table(top_errors_table(r, answers, title));
  r.question("errors.kinds.question");
  r.figure(prefix + "error_kinds", error_kinds_figure(answers, r.texts()),
           r.text("errors.kinds.caption"));
  r.findings(of_each(answers, [&](auto& sentences, auto network, const auto& runs) {
    if (top_errors(runs, 1).empty()) return;
    const auto carries = wrong_percent(runs, accuracy_by_carries);
    const auto digits = wrong_percent(runs, accuracy_by_digit);
    const auto worst = std::max_element(digits.begin(), digits.end(),
                                        [](auto& a, auto& b) { return a.mean < b.mean; });
    sentences.push_back(r.text("errors.kinds.by_carry", "network"_a = r.name(network),
                               "none"_a = carries[0].mean, "one"_a = carries[1].mean,
                               "two"_a = carries[2].mean));
    sentences.push_back(
        r.text("errors.kinds.worst_digit", "network"_a = r.name(network),
               "digit"_a = r.texts().list("errors.kinds.digits")[worst - digits.begin()],
               "wrong"_a = worst->mean));
  }));
}

bool any_run(const Networks& runs) { return !runs.cnn.empty() || !runs.transformer.empty(); }

/// The weight furthest from zero in all maps.
std::string strongest_weight(const AdditionReport& r, const std::string& key,
                             const std::vector<AttentionMap>& maps) {
  const AttentionMap* map = &maps[0];
  size_t place = 0;
  for (const auto& candidate : maps)
    for (size_t i = 0; i < candidate.weights.size(); ++i)
      if (std::abs(candidate.weights[i]) > std::abs(map->weights[place]))
        map = &candidate, place = i;
  const auto size = map->tokens.size();
  return r.text(key, "map"_a = map->title, "query"_a = map->tokens[place / size],
                "key"_a = map->tokens[place % size], "weight"_a = map->weights[place]);
}

}  // namespace

void write_tuned_networks(AdditionReport& r, const Networks& networks) {
  if (!any_run(networks)) return;
  r.section(r.text("tuned.heading"));
  r.question("tuned.question");
  r.table(network_table(r, "tuned.table", "parameters", networks, kTunedReference));
  r.say("tuned.reference");
  r.findings(of_each(networks, [&](auto& sentences, auto network, const Runs& runs) {
    const auto time = over_runs(runs, [](const auto& run) { return run.predict_milliseconds; });
    sentences.push_back(right_sentence(r, network, runs));
    sentences.push_back(r.text("tuned.predict_time", "network"_a = r.name(network),
                               "ms"_a = time.mean,
                               "reference"_a = kTunedReference.of(network).at("predict_time")));
  }));
  write_loss(r, networks);
  r.section(r.text("errors.heading"));
  write_errors(r, networks, "", "tuned.networks");
}

void write_low_rate_networks(AdditionReport& r, const Networks& networks) {
  if (!any_run(networks)) return;
  r.section(r.text("low_rate.heading"));
  r.question("low_rate.question");
  r.table(network_table(r, "low_rate.table", "train_time", networks, kLowRateReference));
  r.say("low_rate.reference");
  r.findings(of_each(networks, [&](auto& sentences, auto network, const Runs& runs) {
    sentences.push_back(right_sentence(r, network, runs));
  }));
  write_errors(r, networks, "low_rate_", "low_rate.networks");
  r.say("errors.top.reference");
}

void write_network_attention(AdditionReport& r, const AttentionStudy& study) {
  const auto &pair = study.pair, &difference = study.carry_difference;
  if (pair.empty() && difference.empty()) return;
  r.section(r.text("attention.heading"));
  if (!pair.empty()) {
    r.question("attention.question", "a"_a = study.a, "b"_a = study.b);
    r.figure("attention_pair", attention_figure(study, r.texts()), r.text("attention.caption"));
    r.findings({strongest_weight(r, "attention.strongest", pair)});
  }
  if (!difference.empty()) {
    r.question("carry.question");
    r.figure("attention_carry", carry_attention_figure(study, r.texts()), r.text("carry.caption"));
    r.findings({strongest_weight(r, "carry.strongest", difference)});
  }
  r.say("attention.caution");
}

}  // namespace vitrine::addition
