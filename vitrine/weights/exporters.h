#pragma once

// Our weights as others name them: the tables of `importers()` backwards, with the JSON files that
// make a folder complete.

#include <string>
#include <utility>
#include <vector>

#include "vitrine/core/fields.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {

/// Whose names exported weights have.
enum class WeightNames { Timm, HuggingFace, Torchvision, Google };
const Choices<WeightNames>& weight_names();

struct ExportedWeights {
  NamedTensors tensors;  // under their names, in their layout
  /// config.json and the like, with their text; empty where a source publishes bare files.
  std::vector<std::pair<std::string, std::string>> files{};
  std::vector<std::string> notes{};  // what such a file cannot say
};

/// A trained model under others' names. Throws and says why where their model cannot be ours.
ExportedWeights export_weights(const LoadedCheckpoint& checkpoint, WeightNames names);

}  // namespace vitrine
