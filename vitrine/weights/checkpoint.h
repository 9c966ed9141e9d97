#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vitrine/core/files.h"
#include "vitrine/data/config.h"
#include "vitrine/formats/safetensors.h"
#include "vitrine/models/registry.h"
#include "vitrine/weights/load.h"

namespace vitrine {

/// What a checkpoint says about its weights, so that a path alone is enough to use them.
struct CheckpointInfo {
  ModelChoice model{};
  std::optional<Preprocess> preprocess{};  // of models that take images
  std::vector<std::string> classes{};
  std::string recipe{};  // the run's recipe as YAML
  int64_t epoch = 0, step = 0;
};

struct LoadedCheckpoint {
  std::shared_ptr<Model> model;  // in evaluation mode
  CheckpointInfo info;
};

/// `load_weights` that refuses whatever does not fit.
void set_weights(Model& model, const TensorFile& file, const std::string& origin,
                 const std::string& prefix = "");

void save_checkpoint(const fs::path& path, const Model& model, const CheckpointInfo& info);

/// The entry of the metadata that a run's resume state has and a checkpoint has not.
inline constexpr const char* kResumePosition = "position";

/// What a checkpoint's metadata has under `key`; throws if it has none, and says what kind of file
/// `path` is instead.
const std::string& checkpoint_entry(const std::map<std::string, std::string>& metadata,
                                    const std::string& key, const fs::path& path);

/// Whether a file with this metadata was written by this program.
bool is_own_metadata(const std::map<std::string, std::string>& metadata);

/// The checkpoint a user means: a .safetensors file, or a run folder (its best, else its last).
fs::path checkpoint_path(const fs::path& run_or_file);

/// Builds the model that the checkpoint names and fills it. Weights published by others are
/// imported (weights/importers.h).
LoadedCheckpoint load_checkpoint(const fs::path& run_or_file,
                                 FileMemory memory = FileMemory::GiveBack);

/// What `load_checkpoint` would say of the model; reads no weights. A file that describes a model
/// far larger than itself throws.
CheckpointInfo stored_info(const fs::path& run_or_file);

/// The model of a run, a checkpoint or published weights, without its weights. A checkpoint that is
/// damaged, or describes a model far larger than itself, throws.
ModelChoice stored_model(const fs::path& run_or_file,
                         const std::vector<std::string>& settings = {});

}  // namespace vitrine
