#include "vitrine/studies/addition/report_writer.h"

#include <algorithm>

namespace vitrine {

ReportWriter::ReportWriter(const fs::path& folder, Language language)
    : folder_(folder), language_(language), page_(words().title, words().page_language) {
  make_folder(figures());
}

fs::path ReportWriter::figures() const {
  return folder_ / (language_ == Language::Korean ? "figures-ko" : "figures");
}

void ReportWriter::question(const std::string& text) {
  page_.paragraph(filled(words().question, text));
}

void ReportWriter::figure(const std::string& name, const plot::Figure& figure,
                          const std::string& caption) {
  figure.save(figures() / name);
  page_.figure({.figure = figure,
                .caption = caption,
                .embed = plot::Embed::Png,
                .png = read_file(figures() / (name + ".png"))});
}

void ReportWriter::table(const Table& table) {
  page_.paragraph(table.title);
  page_.table(table.header, table.rows);
}

void ReportWriter::findings(const std::vector<std::string>& sentences) {
  if (sentences.empty()) return;
  page_.paragraph(words().findings);
  page_.list(sentences);
}

void ReportWriter::save() const {
  page_.save(folder_ / (language_ == Language::Korean ? "report.ko.html" : "report.html"));
}

bool has_points(const std::optional<SweepResult>& sweep) { return sweep && !sweep->points.empty(); }

bool any_point(const PerArchitecture<std::optional<SweepResult>>& sweeps) {
  return has_points(sweeps.cnn) || has_points(sweeps.transformer);
}

bool any_run(const PerArchitecture<std::vector<TrainedNetwork>>& runs) {
  return !runs.cnn.empty() || !runs.transformer.empty();
}

bool has_metrics(const TrainedNetwork& run) {
  return !run.metrics.empty() && fs::exists(run.metrics);
}

}  // namespace vitrine
