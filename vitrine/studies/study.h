#pragma once

#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/number_text.h"
#include "vitrine/report/report.h"
#include "vitrine/report/translations.h"
#include "vitrine/studies/sweep_runner.h"

namespace vitrine {

/// How a study is run; its sweeps themselves are files.
struct StudyOptions {
  fs::path sweeps{};                     // the folder of the sweep files
  fs::path out{};                        // for runs, figures and reports
  std::vector<std::string> parts{};      // to run; empty: all
  std::vector<std::string> languages{};  // of the report; empty: all
  int64_t workers = 0;                   // processes at once; 0: as each sweep says
  bool smoke = false;                    // sizes that a test can run
  fs::path init{};                       // pre-trained weights, for the study that takes them
  double hours = 3;                      // the time for it
  double minutes = 0;                    // of training per run; 0: as each sweep says

  /// Whether the part is named in `parts`.
  bool names(const std::string& part) const;
};

/// Throws if `options` names a part that is none of the study's.
void check_parts(const StudyOptions& options, const std::string& study,
                 const std::vector<std::string>& known);

/// The sweep of a part, read from `file`, at the size and with the time that the options ask for;
/// it then has a name of its own.
SweepConfig part_config(const StudyOptions& options, const fs::path& file);

/// Lets a smoke test train on a few synthetic images, for two epochs.
void set_smoke_images(SweepConfig& config);

/// Runs the sweep of a part, continuing where an earlier call was interrupted; what is stored of a
/// part that is not asked for, and after Ctrl-C. Nothing unless the sweep is complete.
std::optional<SweepResult> run_part(const StudyOptions& options, const std::string& part,
                                    const fs::path& file, const SweepConfig& config);

/// The languages of a report: those asked for, or all that there are. An unknown one throws.
std::vector<std::string> report_languages(const report::TextSet& texts,
                                          const std::vector<std::string>& asked);

/// "report.html" in English, "report.ko.html" in Korean.
std::string localized_file(const std::string& stem, const std::string& language,
                           const std::string& extension);

/// The report of a study in one language: report.html with figures/, or report.CODE.html with
/// figures-CODE/ for languages other than English.
class StudyReport : public report::Report {
 public:
  StudyReport(const report::TextSet& texts, const std::string& language, const fs::path& folder);

  const report::Translations& texts() const { return texts_; }
  template <typename... Args>
  std::string text(const std::string& key, const Args&... args) const {
    return texts_.fill(key, args...);
  }
  /// A paragraph.
  template <typename... Args>
  void say(const std::string& key, const Args&... args) {
    paragraph(text(key, args...));
  }
  /// Sentences that follow from the numbers.
  void finding(const std::vector<std::string>& sentences) {
    say("finding", fmt::arg("text", fmt::format("{}", fmt::join(sentences, " "))));
  }
  /// Names the parts that have not been run, if there are any.
  void missing(const std::vector<std::string>& parts) {
    if (!parts.empty())
      say("missing", fmt::arg("parts", fmt::format("{}", fmt::join(parts, ", "))));
  }
  /// Says how many of the runs failed and why, if any did.
  void failures(const std::vector<SweepRun>& runs);
  /// Writes the page.
  void save() const { Report::save(localized_file("report", texts_.language(), ".html")); }

 private:
  StudyReport(report::Translations texts, const fs::path& folder);

  report::Translations texts_;
};

}  // namespace vitrine
