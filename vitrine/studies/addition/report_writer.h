#pragma once

#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/plot/page.h"
#include "vitrine/studies/addition/report_text.h"
#include "vitrine/studies/addition/study.h"
#include "vitrine/studies/addition/tables.h"

namespace vitrine {

/// The page of one language: writes figures as files and puts them on it.
class ReportWriter {
 public:
  ReportWriter(const fs::path& folder, Language language);

  const ReportWords& words() const { return report_words(language_); }
  const std::string& name(AdditionArchitecture architecture) const {
    return figure_words(language_).architecture.of(architecture);
  }
  Language language() const { return language_; }

  void section(const std::string& heading) { page_.section(heading); }
  void paragraph(const std::string& text) { page_.paragraph(text); }
  void list(const std::vector<std::string>& items) { page_.list(items); }
  void question(const std::string& text);
  void figure(const std::string& name, const plot::Figure& figure, const std::string& caption);
  void table(const Table& table);
  /// A list of sentences; nothing if there are none.
  void findings(const std::vector<std::string>& sentences);
  /// Writes the page.
  void save() const;

 private:
  fs::path figures() const;

  fs::path folder_;
  Language language_;
  plot::Page page_;
};

/// The parts of the page, each with its heading; a part without data writes nothing.
void write_sweeps(ReportWriter& writer, const AdditionStudy& study);
void write_rates(ReportWriter& writer, const AdditionStudy& study);
void write_tuned(ReportWriter& writer, const AdditionStudy& study);
void write_low_rate(ReportWriter& writer, const AdditionStudy& study);
void write_held_out(ReportWriter& writer, const AdditionStudy& study);
void write_small(ReportWriter& writer, const AdditionStudy& study);
void write_attention(ReportWriter& writer, const AdditionStudy& study);

/// Figures, tables and findings about the answers of trained networks; `prefix` starts the names
/// of the figures' files, `which` names the networks in the table's title.
void write_errors(ReportWriter& writer, const PerArchitecture<std::vector<TrainedNetwork>>& runs,
                  const std::string& prefix, const std::string& which);

/// Whether any run of either network is there.
bool any_run(const PerArchitecture<std::vector<TrainedNetwork>>& runs);

/// Whether either network has a point in its sweep.
bool any_point(const PerArchitecture<std::optional<SweepResult>>& sweeps);

/// Whether the sweep has been run.
bool has_points(const std::optional<SweepResult>& sweep);

/// Whether the run's metrics.jsonl is there.
bool has_metrics(const TrainedNetwork& run);

}  // namespace vitrine
