#include "vitrine/inspect/explain/gallery.h"

#include <fmt/format.h>

#include <cctype>

#include "vitrine/core/error.h"
#include "vitrine/inspect/explain/sections.h"
#include "vitrine/inspect/explain_figures.h"

namespace vitrine {
namespace {

/// The stem of a file's name with whatever a link cannot hold replaced.
std::string link_name(const std::string& file) {
  auto name = fs::path(file).stem().string();
  for (char& c : name) {
    const bool ascii = static_cast<unsigned char>(c) < 0x80;
    if (ascii && !std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return name;
}

}  // namespace

std::vector<fs::path> Gallery::add(const Explanation& e, const std::string& name) {
  const auto inside = fmt::format("{:04}-{}", size() + 1, link_name(name));
  const auto files = write_explanation(e, name, folder_ / inside, "../index.html");
  const auto& best = e.predictions.front();
  auto text = fmt::format("{:.1f} %, {}", 100 * best.probability, name);
  if (e.target.index != best.index)
    text += fmt::format("; explained: {} ({:.1f} %)", e.target.label, 100 * e.target.probability);
  entries_.push_back({.title = best.label,
                      .text = text,
                      .link = inside + "/explain.html",
                      .png = strip_figure(e).render("png"),
                      .wide = true});
  if (!e.curves.empty()) curves_.push_back(e.curves);
  if (size() == 1) {
    common_ = e;
  } else {
    for (size_t layer = 0; layer < e.distances.size(); ++layer)
      for (size_t head = 0; head < e.distances[layer].size(); ++head)
        common_.distances.at(layer).at(head) += e.distances[layer][head];
  }
  return files;
}

std::vector<FaithfulnessScore> Gallery::scores() const {
  return curves_.empty() ? std::vector<FaithfulnessScore>{} : faithfulness(curves_);
}

fs::path Gallery::save() const {
  check(size() > 0, "gallery: there are no images");
  report::Report page(
      {.title = fmt::format("{}: {}", common_.model, counted(size(), "image")), .folder = folder_});
  page.section("Images");
  page.paragraph(fmt::format(
      "Each image with its most likely class and the maps of every method over it: red counts more "
      "than uniform, blue less. {}",
      tokens_text(common_)));
  page.entries(entries_);
  if (!curves_.empty()) faithfulness_section(page, curves_);
  if (!common_.distances.empty()) {
    auto mean = common_;
    for (auto& layer : mean.distances)
      for (double& distance : layer) distance /= static_cast<double>(size());
    distance_section(page, mean, size());
  }
  weights_sections(page, common_);
  return page.save("index.html");
}

}  // namespace vitrine
