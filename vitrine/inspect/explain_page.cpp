#include <fmt/format.h>

#include <algorithm>

#include "vitrine/inspect/explain/sections.h"

namespace vitrine {

std::vector<fs::path> write_explanation(const Explanation& e, const std::string& subject,
                                        const fs::path& folder, const std::string& index) {
  report::Report page({.title = fmt::format("{}: {}", e.model, subject), .folder = folder});
  if (!index.empty()) page.links({{"All images", index}});
  answer_section(page, e);
  if (std::any_of(e.maps.begin(), e.maps.end(),
                  [](const auto& m) { return m.method != ExplainMethod::Rollout; }))
    class_maps_section(page, e);
  if (e.map(ExplainMethod::Rollout) != nullptr) rollout_section(page, e);
  if (!e.lens.layers.empty()) lens_section(page, e);
  if (!e.curves.empty()) faithfulness_section(page, {e.curves});
  if (!e.heads.empty()) {
    heads_section(page, e);
    distance_section(page, e);
  }
  if (index.empty()) weights_sections(page, e);
  auto files = page.figure_files();
  files.push_back(page.save("explain.html"));
  return files;
}

}  // namespace vitrine
