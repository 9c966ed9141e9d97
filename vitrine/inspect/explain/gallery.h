#pragma once

#include <string>
#include <vector>

#include "vitrine/inspect/explain.h"

namespace vitrine {

/// Many explained images: a page for each and an index page with thumbnails, answers and maps.
class Gallery {
 public:
  explicit Gallery(fs::path folder) : folder_(std::move(folder)) {}

  /// Writes the page of one more image into a folder of its own; returns the files, the page last.
  /// The first explanation must have what is the same for every image (`ExplainConfig::weights`).
  std::vector<fs::path> add(const Explanation& e, const std::string& name);

  /// Writes index.html and the figures over all images; returns the page's path.
  fs::path save() const;

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  /// What the images' curves say of every method; empty if they were not measured.
  std::vector<FaithfulnessScore> scores() const;

 private:
  fs::path folder_;
  Explanation common_{};  // the first image's, its distances summed over all images
  std::vector<plot::PageEntry> entries_;
  std::vector<std::vector<PerturbationCurves>> curves_;
};

}  // namespace vitrine
