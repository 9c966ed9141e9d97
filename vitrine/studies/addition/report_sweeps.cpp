#include <fmt/ranges.h>

#include <algorithm>

#include "vitrine/studies/addition/figures.h"
#include "vitrine/studies/addition/report_writer.h"

namespace vitrine {
namespace {

/// By how much a setting moves the accuracy.
struct Effect {
  std::string setting;
  double range;
};

std::vector<Effect> effects(const SweepResult& sweep, const FigureWords& w) {
  std::vector<Effect> found;
  for (const auto& [key, name] :
       {std::pair(kEmbedKey, w.embed), std::pair(kLayersKey, w.layers),
        std::pair(kChannelsKey, w.channels), std::pair(kHiddenKey, w.hidden)})
    if (const auto range = accuracy_range(sweep, key)) found.push_back({name, *range});
  return found;
}

std::vector<std::string> sweep_findings(const ReportWriter& writer, const SweepResult& sweep) {
  const auto& w = writer.words();
  const auto counts = count_runs(sweep);
  std::vector<std::string> sentences = {
      filled(w.sweep_runs, counts.runs, counts.over_budget, counts.failed)};
  if (const auto* best = best_point(sweep)) {
    const auto accuracy = mean_std(*best, test_figure);
    sentences.push_back(filled(w.sweep_best, 100 * accuracy.mean, 100 * accuracy.std,
                               settings_text(best->point.settings),
                               mean_std(*best, seconds_figure).mean));
  }
  const auto found = effects(sweep, figure_words(writer.language()));
  if (found.size() < 2) return sentences;
  std::vector<std::string> ranges;
  for (const auto& [setting, range] : found)
    ranges.push_back(filled(w.sweep_range, setting, 100 * range));
  sentences.push_back(filled(w.sweep_ranges, fmt::format("{}", fmt::join(ranges, ", "))));
  const auto largest = std::max_element(
      found.begin(), found.end(),
      [](const Effect& one, const Effect& other) { return one.range < other.range; });
  sentences.push_back(filled(w.sweep_matters, largest->setting));
  return sentences;
}

void write_round(ReportWriter& writer, const PerArchitecture<std::optional<SweepResult>>& sweeps,
                 SweepRound round) {
  if (!any_point(sweeps)) return;
  const auto& w = writer.words();
  writer.section(round == SweepRound::First ? w.first_sweep : w.second_sweep);
  writer.question(w.sweep_question);
  writer.paragraph(w.sweep_reading);
  for (const auto architecture : kArchitectures) {
    if (!has_points(sweeps.of(architecture))) continue;
    const auto name =
        fmt::format("sweep{}_{}", round == SweepRound::First ? 1 : 2,
                    architecture == AdditionArchitecture::Cnn ? "cnn" : "transformer");
    writer.figure(name,
                  sweep_figure(*sweeps.of(architecture), architecture, round, writer.language()),
                  filled(w.sweep_caption, writer.name(architecture)));
    writer.findings(sweep_findings(writer, *sweeps.of(architecture)));
  }
}

}  // namespace

void write_sweeps(ReportWriter& writer, const AdditionStudy& study) {
  write_round(writer, study.first_sweep, SweepRound::First);
  write_round(writer, study.second_sweep, SweepRound::Second);
}

}  // namespace vitrine
