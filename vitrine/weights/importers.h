#pragma once

// Weights published by others, by source. A source is an entry of `importers()`: the table between
// its names and ours, and how a model is described by the shapes of its tensors.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/registry.h"
#include "vitrine/weights/checkpoint.h"
#include "vitrine/weights/mapped_file.h"

namespace vitrine {

struct ImageShape;

/// The model of a file, as far as its tensors show.
struct ModelDescription {
  std::string model;                                   // the registered model it is most like
  std::vector<std::pair<std::string, int64_t>> sizes;  // told by shapes: nothing else would fit
  std::vector<std::string> settings{};                 // "heads=3": what the user may set otherwise
  std::string recipe{};                                // YAML: the data it can be evaluated on
  bool classifier = true;                              // false: the file has no head
  std::optional<Preprocess> preprocess{};              // of this very file, for its own image size
};

struct Importer {
  NameMap map;
  ModelDescription (*describe)(const MappedFile& file);
  /// What classifiers of this source do to an image of any size; null for other models.
  Preprocess (*preprocess)(const ImageShape& shape) = nullptr;
  PositionResize positions = PositionResize::None;
  std::string untold{};  // what the file does not say and the user should check
  /// Brings tensors that no row can express into the form that the rows are for.
  TensorFile (*prepare)(TensorFile file) = nullptr;
};

/// Every source the tools can take weights from, family by family.
const Registry<Importer>& importers();

/// What the user says of published weights.
struct ImportOptions {
  /// "heads=6" of the model, "preprocess.resize=256" of its images.
  std::vector<std::string> settings{};
  std::string model{};  // the registered model that it is; "": told by the shapes
  FileMemory memory = FileMemory::GiveBack;
};

/// A file of a known source as a model of ours.
struct ImportedModel {
  std::string source;  // its name in `importers()`
  LoadedCheckpoint checkpoint;
  Account account;
  std::string untold{};  // what nothing in the file or folder says, as in `Importer`
};

/// Reads a file of weights or a folder of timm or Hugging Face, recognises its source by the names
/// of the tensors and builds the model, with the options on top of what shapes and config.json
/// tell. An unknown source, missing, unknown and wrongly shaped tensors, and settings or a
/// config.json that the shapes contradict throw.
ImportedModel import_weights(const fs::path& path, const ImportOptions& options = {});

/// Whether `import_weights` is for this path: a file of tensors that the program has not written,
/// or a folder with one that is no run. Told by the content.
bool is_published(const fs::path& path);

/// What `import_weights` would say of the model, found without reading the numbers.
CheckpointInfo describe_weights(const fs::path& path, const ImportOptions& options = {});

}  // namespace vitrine
