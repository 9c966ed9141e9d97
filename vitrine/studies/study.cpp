#include "vitrine/studies/study.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/nearest.h"
#include "vitrine/core/progress.h"
#include "vitrine/studies/sweep_plan.h"

namespace vitrine {
namespace {

/// "" for English, "SEPARATOR + CODE" for others.
std::string language_suffix(const std::string& language, char separator) {
  return language == "en" ? "" : separator + language;
}

void announce(const fs::path& file, const SweepConfig& config) {
  const auto runs = sweep_points(config).size() * config.seeds.size();
  const auto each =
      config.budget > 0 ? fmt::format(" of at most {}", duration_text(config.budget)) : "";
  fmt::print(stderr, "{}: {} runs{}\n", file.string(), runs, each);
}

}  // namespace

bool StudyOptions::names(const std::string& part) const { return contains(parts, part); }

void check_parts(const StudyOptions& options, const std::string& study,
                 const std::vector<std::string>& known) {
  for (const auto& part : options.parts)
    check_usage(contains(known, part), "study {}: part '{}' is not known{} (known: {})", study,
                part, did_you_mean(part, known), fmt::join(known, ", "));
}

SweepConfig part_config(const StudyOptions& options, const fs::path& file) {
  auto config = read_sweep(file);
  if (options.minutes > 0) {
    constexpr double kMinute = 60;  // seconds
    config.budget = kMinute * options.minutes;
    config.name += fmt::format("-{:g}min", options.minutes);
  }
  return options.smoke ? smoke_sweep_config(config) : config;
}

void set_smoke_images(SweepConfig& config) {
  for (const auto& [key, value] :
       {Setting("data.dataset", "synthetic"), Setting("data.dataset.train", "100"),
        Setting("data.dataset.test", "20"), Setting("data.validation", "0.2"),
        Setting("data.batch", "8"), Setting("train.epochs", "2"), Setting("train.log_steps", "1")})
    put_setting(config.set, key, value);
}

std::optional<SweepResult> run_part(const StudyOptions& o, const std::string& part,
                                    const fs::path& file, const SweepConfig& config) {
  SweepOptions options{
      .out = o.out / "sweeps", .workers = o.workers, .command = "vitrine sweep " + file.string()};
  options.only_stored = interrupted() || (!o.parts.empty() && !o.names(part));
  if (!options.only_stored) announce(file, config);
  const auto result = run_sweep(config, options);
  return is_complete(result, config) ? std::optional(result) : std::nullopt;
}

StudyReport::StudyReport(const report::TextSet& texts, const std::string& language,
                         const fs::path& folder)
    : StudyReport(report::Translations(texts, language), folder) {}

StudyReport::StudyReport(report::Translations texts, const fs::path& folder)
    : Report({.title = texts.at("title"),
              .language = texts.language(),
              .folder = folder,
              .figures = "figures" + language_suffix(texts.language(), '-')}),
      texts_(std::move(texts)) {}

void StudyReport::failures(const std::vector<SweepRun>& runs) {
  std::set<std::string> reasons;  // each once
  int64_t count = 0;
  for (const auto& run : runs)
    if (run.failed()) {
      reasons.insert(run.error);
      ++count;
    }
  if (count > 0)
    say("failed", fmt::arg("count", count),
        fmt::arg("reasons", fmt::format("{}", fmt::join(reasons, "; "))));
}

std::vector<std::string> report_languages(const report::TextSet& texts,
                                          const std::vector<std::string>& asked) {
  for (const auto& language : asked) report::Translations(texts, language);
  return asked.empty() ? texts.languages() : asked;
}

std::string localized_file(const std::string& stem, const std::string& language,
                           const std::string& extension) {
  return stem + language_suffix(language, '.') + extension;
}

}  // namespace vitrine
