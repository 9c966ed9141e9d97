#pragma once

#include <string>

#include "vitrine/core/files.h"
#include "vitrine/plot/page.h"
#include "vitrine/studies/sparse/study.h"

namespace vitrine::sparse {

/// The report while it is written.
class ReportPage {
 public:
  explicit ReportPage(fs::path folder);

  /// Starts a section with the command that makes it.
  void section(const std::string& heading, const std::string& part);
  void paragraph(const std::string& text) { page_.paragraph(text); }
  void preformatted(const std::string& text) { page_.preformatted(text); }
  void table(const plot::Table& table);
  /// Also saved as figures/NAME.png and .svg.
  void figure(const std::string& name, const plot::Figure& figure, const std::string& caption);
  /// A sentence that follows from the numbers.
  void finding(const std::string& sentence) { page_.paragraph("Finding: " + sentence); }
  void save() const { page_.save(folder_ / "report.html"); }

  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
  plot::Page page_;
};

/// The sections of the report.
void write_trained(ReportPage& page, const std::string& part, const TrainedPart& trained);
void write_cost(ReportPage& page, const CostPart& cost);
void write_step(ReportPage& page, const StepPart& step);
void write_growth(ReportPage& page, const StepPart& step, const CostPart& cost);
void write_sampling(ReportPage& page, const SamplingPart& sampling);

}  // namespace vitrine::sparse
