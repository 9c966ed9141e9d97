#pragma once

#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/plot/colors.h"

namespace vitrine {

struct LoadedCheckpoint;

/// What a model predicted for an image and what it attended to.
struct Explanation {
  std::string model;
  Image image;  // the part of the image that the network sees
  std::vector<Prediction> predictions;
  bool class_token = false;       // otherwise heads' maps are means over all tokens
  int64_t rows = 0, columns = 0;  // of the first layer's grid of patches
  std::vector<std::vector<plot::Matrix>> heads{};  // by layer and head: on the keys' grid
  plot::Matrix rollout{};                          // (rows, columns)
  plot::Matrix positions{};  // similarity of every two patches' positions; no rows: has none
};

/// Runs the image through the network; throws for networks without attention over patches.
Explanation explain(const LoadedCheckpoint& checkpoint, const Image& image);

/// Writes prediction.png, rollout.png, attention.png, positions.png (where the network has
/// positions) and explain.html, which holds them all; returns their paths, the page last.
/// `subject` names the image.
std::vector<fs::path> write_explanation(const Explanation& explanation, const std::string& subject,
                                        const fs::path& folder);

}  // namespace vitrine
