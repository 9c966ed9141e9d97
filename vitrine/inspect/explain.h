#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/core/image.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/inspect/attention_map.h"
#include "vitrine/inspect/explain/faithfulness.h"
#include "vitrine/inspect/explain_config.h"
#include "vitrine/nn/token_grid.h"

namespace vitrine {

struct LoadedCheckpoint;

/// What one method says of the parts of an image.
struct MethodMap {
  ExplainMethod method{};
  AttentionMap map{};
};

/// What the head would answer behind one block.
struct LensLayer {
  Prediction best{};                    // the most likely class there
  std::vector<double> probabilities{};  // of the classes that the lens follows
};

/// How the answer forms with depth: behind the embedding, the first block, ..., the last.
struct LogitLens {
  std::vector<Prediction> followed{};  // the classes, as the whole network sees them
  std::vector<LensLayer> layers{};     // empty: the network has no blocks to look behind
};

/// A principal component of the first layer's filters.
struct FilterComponent {
  Image image{};        // grey is 0; scaled by the component's largest value
  double variance = 0;  // the fraction of the filters' variance that it explains
};

/// What a model predicted for an image and what it made that of.
struct Explanation {
  std::string model{};
  Image image{};      // the part of the image that the network sees
  int64_t input = 0;  // to how many pixels a side it is resized
  std::vector<Prediction> predictions{};
  Prediction target{};                  // the class that is explained
  std::vector<MethodMap> maps{};        // in the order of ExplainMethod
  RolloutConfig rollout{};              // how the rollout was made
  double rollout_kept = 0;              // the fraction of the rollout on the class token
  std::optional<ImageTokens> tokens{};  // what the model tells of them
  int64_t rows = 0, columns = 0;        // of the first layer's grid of tokens; 0: no tokens
  std::string no_attention{};           // why there are no attention weights, if so
  bool class_token = false;             // whose weights `heads` are; otherwise means over queries
  Readout readout = Readout::Token;     // how the answer reads the last layer's tokens
  std::vector<std::vector<AttentionMap>> heads{};  // per layer and head, on its keys' grid
  std::vector<std::vector<double>> distances{};    // per layer and head, in pixels
  std::vector<double> uniform_distances{};         // per layer: those of uniform attention
  AttentionMap pooling{};  // the weights of Readout::Weighted; no tokens otherwise
  LogitLens lens{};
  std::vector<PerturbationCurves> curves{};  // of ExplainConfig::faithfulness
  plot::Matrix positions{};  // similarity of every two patches' positions; no rows: has none
  std::vector<FilterComponent> filters{};  // of the first layer

  /// The map of a method; null if there is none.
  const AttentionMap* map(ExplainMethod method) const;
};

/// Runs the image through the network. Throws for networks that do not take images, and if a method
/// is asked for that the network does not have.
Explanation explain(const LoadedCheckpoint& checkpoint, const Image& image,
                    const ExplainConfig& config = {});

/// Writes the figures and explain.html, which holds them all; returns their paths, the page last.
/// `subject` names the image. `index` links back to the page of a gallery, which then shows what is
/// the same for all images.
std::vector<fs::path> write_explanation(const Explanation& explanation, const std::string& subject,
                                        const fs::path& folder, const std::string& index = "");

}  // namespace vitrine
