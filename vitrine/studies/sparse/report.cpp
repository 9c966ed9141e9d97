#include "vitrine/studies/sparse/report.h"

#include <fmt/format.h>

#include "vitrine/core/image_files.h"
#include "vitrine/inspect/pattern_figure.h"
#include "vitrine/studies/sparse/report_page.h"
#include "vitrine/studies/sparse/run.h"

namespace vitrine::sparse {
namespace {

std::vector<std::string> missing_parts(const SparseStudy& study) {
  std::vector<std::string> missing;
  for (const auto& part : sparse_parts()) {
    const bool there = study.trained.contains(part) || (part == "cost" && study.cost) ||
                       (part == "step" && study.step) || (part == "sampling" && study.sampling) ||
                       (part == "images" && study.images);
    if (!there) missing.push_back(part);
  }
  return missing;
}

/// Small enough that single tokens can be seen.
void write_patterns(ReportPage& page) {
  constexpr int64_t kTokens = 256, kStride = 16, kSummary = 4;
  page.section("The patterns", "");
  for (const auto& [name, kind] : pattern_kind_names()) {
    if (kind != PatternKind::Strided && kind != PatternKind::Fixed) continue;
    const AttentionPattern pattern{.kind = kind, .stride = kStride, .summary_tokens = kSummary};
    page.figure("pattern-" + name, pattern_figure(pattern, kTokens),
                fmt::format("The {} pattern. Dark: its first half, light: its second, red: the "
                            "token itself.",
                            name));
  }
}

void write_images(ReportPage& page, const ImagesPart& part) {
  page.section("What the long run's network makes up", "images");
  for (const auto& set : part.sets) {
    std::vector<Image> images;
    for (const auto& file : set.files) images.push_back(read_image(page.folder() / file));
    page.figure(set.name, plot::image_grid(set.title, images, {}, set.columns), "");
  }
}

}  // namespace

ReportPage::ReportPage(fs::path folder)
    : folder_(std::move(folder)), page_("Sparse against dense attention", "en") {
  make_folder(folder_ / "figures");
}

void ReportPage::section(const std::string& heading, const std::string& part) {
  page_.section(heading);
  if (!part.empty()) page_.preformatted("vitrine study sparse --parts " + part);
}

void ReportPage::table(const plot::Table& table) {
  page_.paragraph(table.title);
  page_.table(table.header, table.rows);
}

void ReportPage::figure(const std::string& name, const plot::Figure& figure,
                        const std::string& caption) {
  const auto path = folder_ / "figures" / name;
  figure.save(path);
  page_.figure({.figure = figure,
                .caption = caption,
                .embed = plot::Embed::Png,
                .png = read_file(path.string() + ".png")});
}

void write_sparse_report(const SparseStudy& study, const fs::path& folder) {
  ReportPage page(folder);
  page.paragraph(
      "An image of 32 x 32 pixels is a sequence of 3072 bytes, and each byte is told from those "
      "before it. Dense attention looks at all pairs of bytes, sparse attention at a few. What "
      "does that save, and what does it cost? Results are in bits per dim: the mean of -log2 of "
      "the probability that the network gives to the right byte.");
  if (const auto missing = missing_parts(study); !missing.empty())
    page.paragraph(fmt::format("Not run yet: {}.", fmt::join(missing, ", ")));
  write_patterns(page);
  if (study.cost) write_cost(page, *study.cost);
  if (study.step) write_step(page, *study.step);
  if (study.step && study.cost) write_growth(page, *study.step, *study.cost);
  for (const auto& part : sparse_parts())
    if (const auto trained = study.trained.find(part); trained != study.trained.end())
      write_trained(page, part, trained->second);
  if (study.sampling) write_sampling(page, *study.sampling);
  if (study.images) write_images(page, *study.images);
  page.save();
}

}  // namespace vitrine::sparse
