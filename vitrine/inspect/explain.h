#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/inspect/attention_map.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

struct LoadedCheckpoint;

/// What a model predicted for an image and what it attended to.
struct Explanation {
  std::string model;
  Image image;        // the part of the image that the network sees
  int64_t input = 0;  // to how many pixels a side it is resized
  std::vector<Prediction> predictions;
  bool class_token = false;          // whose weights `heads` are; otherwise means over all queries
  Readout readout = Readout::Token;  // how the answer reads the last layer's tokens
  int64_t rows = 0, columns = 0;     // of the first layer's grid of tokens
  std::optional<ImageTokens> tokens{};             // what the model tells of them
  std::vector<std::vector<AttentionMap>> heads{};  // per layer and head, on its keys' grid
  AttentionMap pooling{};    // the weights of Readout::Weighted; no tokens otherwise
  AttentionMap rollout{};    // (rows, columns)
  double rollout_kept = 0;   // the fraction of the rollout on the class token
  plot::Matrix positions{};  // similarity of every two patches' positions; no rows: has none
};

/// Runs the image through the network; throws for networks without attention over image tokens.
Explanation explain(const LoadedCheckpoint& checkpoint, const Image& image);

/// Writes prediction.png, rollout.png, attention.png, positions.png (where the network has
/// positions) and explain.html, which holds them all; returns their paths, the page last.
/// `subject` names the image.
std::vector<fs::path> write_explanation(const Explanation& explanation, const std::string& subject,
                                        const fs::path& folder);

}  // namespace vitrine
