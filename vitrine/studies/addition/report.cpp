#include "vitrine/studies/addition/report.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vitrine/studies/addition/report_writer.h"

namespace vitrine {
namespace {

/// The parts of the study that are not there, in the language's words.
std::vector<std::string> missing_parts(const AdditionStudy& study, Language language) {
  const auto& w = report_words(language);
  std::vector<std::string> parts;
  const auto need = [&](const std::string& part, const auto& there) {
    for (const auto architecture : kArchitectures)
      if (!there(architecture))
        parts.push_back(filled(part, figure_words(language).architecture.of(architecture)));
  };
  const auto need_sweep = [&](const std::string& part, const auto& sweeps) {
    need(part,
         [&](AdditionArchitecture architecture) { return has_points(sweeps.of(architecture)); });
  };
  need_sweep(w.part_first_sweep, study.first_sweep);
  need_sweep(w.part_second_sweep, study.second_sweep);
  need_sweep(w.part_rates, study.rates);
  need(w.part_tuned,
       [&](AdditionArchitecture architecture) { return !study.tuned.of(architecture).empty(); });
  need(w.part_metrics, [&](AdditionArchitecture architecture) {
    const auto& runs = study.tuned.of(architecture);
    return std::any_of(runs.begin(), runs.end(), has_metrics);
  });
  need(w.part_low_rate,
       [&](AdditionArchitecture architecture) { return !study.low_rate.of(architecture).empty(); });
  need_sweep(w.part_held_out, study.held_out);
  need_sweep(w.part_small, study.small);
  if (!study.attention || study.attention->pair.empty()) parts.push_back(w.part_attention);
  if (!study.attention || study.attention->carry_difference.empty())
    parts.push_back(w.part_carry_attention);
  return parts;
}

void write_page(const AdditionStudy& study, const fs::path& folder, Language language) {
  ReportWriter writer(folder, language);
  for (const auto& text : writer.words().intro) writer.paragraph(text);
  writer.list(writer.words().glossary);
  if (const auto missing = missing_parts(study, language); !missing.empty())
    writer.paragraph(filled(writer.words().missing, fmt::format("{}", fmt::join(missing, ", "))));
  write_sweeps(writer, study);
  write_rates(writer, study);
  write_tuned(writer, study);
  write_low_rate(writer, study);
  write_held_out(writer, study);
  write_small(writer, study);
  write_attention(writer, study);
  writer.save();
}

std::string results_markdown(const AdditionStudy& study) {
  constexpr auto kLanguage = Language::English;
  const auto& w = table_words(kLanguage);
  std::vector<Table> tables = {
      rates_table(shared_points(study.rates, kLearningRateKey), kLanguage),
      tuned_table(study.tuned, kLanguage),
      deviations_table(study.tuned, w.tuned_networks, kLanguage),
      low_rate_table(study.low_rate, kLanguage),
      deviations_table(study.low_rate, w.low_rate_networks, kLanguage),
      held_out_table(shared_points(study.held_out, kHeldOutKey), kLanguage),
      small_table(study.small, kLanguage)};
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  std::string text = fmt::format("## {}\n", report_words(kLanguage).title);
  for (const auto& table : tables) text += "\n" + markdown(table);
  if (const auto missing = missing_parts(study, kLanguage); !missing.empty())
    text += fmt::format("\nNot run yet: {}.\n", fmt::join(missing, ", "));
  return text;
}

}  // namespace

void write_addition_report(const AdditionStudy& study, const fs::path& folder) {
  for (const auto language : {Language::English, Language::Korean})
    write_page(study, folder, language);
  write_file_atomically(folder / "results.md", results_markdown(study));
}

}  // namespace vitrine
