#include <fmt/ranges.h>

#include <cmath>
#include <functional>

#include "vitrine/studies/addition/source.h"
#include "vitrine/studies/addition/tables.h"

namespace vitrine {
namespace {

using Runs = std::vector<TrainedNetwork>;

/// "1.20 ± 0.05" over the runs; without the deviation if there is only one.
std::string over_runs(const Runs& runs, int decimals,
                      const std::function<double(const TrainedNetwork&)>& figure) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(figure(run));
  auto [mean, std, count] = mean_std(values);
  if (std::abs(mean) < 0.5 * std::pow(10, -decimals)) mean = 0;  // never "-0.00"
  if (count == 1) return fmt::format("{:.{}f}", mean, decimals);
  return fmt::format("{:.{}f} ± {:.{}f}", mean, decimals, std, decimals);
}

/// What `text` makes of each run, in the order of the runs.
std::string each_run(const Runs& runs,
                     const std::function<std::string(const TrainedNetwork&)>& text) {
  std::vector<std::string> parts;
  for (const auto& run : runs) parts.push_back(text(run));
  return fmt::format("{}", fmt::join(parts, " / "));
}

/// A table that has one row per quantity, and for each network a column beside the source's.
class NetworkTable {
 public:
  NetworkTable(const std::string& title, const std::vector<std::string>& quantities,
               Language language)
      : language_(language), table_{title, {table_words(language).quantity}} {
    for (const auto& quantity : quantities) table_.rows.push_back({quantity});
  }

  void add(AdditionArchitecture architecture, const std::vector<std::string>& measured,
           const std::vector<std::string>& source) {
    const auto& name = figure_words(language_).architecture.of(architecture);
    table_.header.push_back(name);
    table_.header.push_back(filled(table_words(language_).source, name));
    for (size_t i = 0; i < table_.rows.size(); ++i) {
      table_.rows[i].push_back(measured[i]);
      table_.rows[i].push_back(source[i]);
    }
  }

  /// Without rows if no network was added.
  Table take() {
    if (table_.header.size() == 1) table_.rows.clear();
    return std::move(table_);
  }

 private:
  Language language_;
  Table table_;
};

/// What both tables start with.
std::vector<std::string> answers_column(const Runs& runs) {
  return {settings_text(runs.front().settings),
          each_run(runs, [](const auto& run) { return std::to_string(run.seed); }),
          each_run(runs, [](const auto& run) { return with_commas(right_answers(run.answers)); }),
          over_runs(runs, 2, [](const auto& run) { return deviation_spread(run.answers).mean; }),
          over_runs(runs, 2, [](const auto& run) { return deviation_spread(run.answers).std; }),
          over_runs(runs, 1, [](const auto& run) { return run.train_seconds; })};
}

}  // namespace

Table tuned_table(const PerArchitecture<Runs>& networks, Language language) {
  const auto& w = table_words(language);
  NetworkTable table(w.tuned_title,
                     {w.settings, w.seeds, w.right, w.deviation_mean, w.deviation_std, w.train_time,
                      w.predict_time, w.checkpoint, w.parameters},
                     language);
  for (const auto architecture : kArchitectures) {
    const auto& runs = networks.of(architecture);
    if (runs.empty()) continue;
    auto measured = answers_column(runs);
    measured.push_back(over_runs(runs, 1, [](const auto& r) { return r.predict_milliseconds; }));
    measured.push_back(fmt::format("{:.1f}", static_cast<double>(runs.front().bytes) / 1000));
    measured.push_back(with_commas(runs.front().parameters));
    const auto& source = kSourceTuned.of(architecture);
    table.add(architecture, measured,
              {source.settings, "", source.right, source.deviation_mean, source.deviation_std, "",
               source.predict_milliseconds, source.kilobytes, ""});
  }
  return table.take();
}

Table low_rate_table(const PerArchitecture<Runs>& networks, Language language) {
  const auto& w = table_words(language);
  NetworkTable table(
      w.low_rate_title,
      {w.settings, w.seeds, w.right, w.deviation_mean, w.deviation_std, w.train_time}, language);
  for (const auto architecture : kArchitectures) {
    const auto& runs = networks.of(architecture);
    if (runs.empty()) continue;
    const auto& source = kSourceLowRate.of(architecture);
    table.add(architecture, answers_column(runs),
              {source.settings, "", source.right, source.deviation_mean, source.deviation_std,
               filled(w.per_1000_epochs, source.train_seconds)});
  }
  return table.take();
}

}  // namespace vitrine
