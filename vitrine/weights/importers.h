#pragma once

// Weights published by others, by source. A source is an entry of `importers()`: the table between
// its names and ours, and how a model is described by the shapes of its tensors.

#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/registry.h"
#include "vitrine/weights/checkpoint.h"
#include "vitrine/weights/name_map.h"

namespace vitrine {

struct ImageShape;

/// The model of a file, as far as its tensors show.
struct ModelDescription {
  std::string model;                                   // the registered model it is most like
  std::vector<std::pair<std::string, int64_t>> sizes;  // told by shapes: nothing else would fit
  std::vector<std::string> settings{};                 // "heads=3": what the user may set otherwise
  std::string recipe{};                                // YAML: the data it can be evaluated on
};

struct Importer {
  NameMap map;
  ModelDescription (*describe)(const MappedFile& file);
  /// What classifiers of this source do to an image of any size; null for other models.
  Preprocess (*preprocess)(const ImageShape& shape) = nullptr;
  PositionResize positions = PositionResize::None;
  std::string untold{};  // what the file does not say and the user should check
};

/// Every source the tools can take weights from, family by family.
const Registry<Importer>& importers();

/// A file of a known source as a model of ours.
struct ImportedModel {
  std::string source;  // its name in `importers()`
  LoadedCheckpoint checkpoint;
  std::string recipe;  // YAML: the data it can be evaluated on; "" if the program has none
  Account account;
};

/// Reads a safetensors or npz file, recognises its source by the names in it and builds the model,
/// with `settings` ("heads=6") on top of what the shapes tell. An unknown source, missing, unknown
/// and wrongly shaped tensors and settings that the shapes contradict throw.
ImportedModel import_weights(const fs::path& path, const std::vector<std::string>& settings);

}  // namespace vitrine
