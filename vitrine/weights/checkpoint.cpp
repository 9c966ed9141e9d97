#include "vitrine/weights/checkpoint.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/models/no_random_init.h"
#include "vitrine/plot/text.h"
#include "vitrine/weights/format_version.h"
#include "vitrine/weights/importers.h"
#include "vitrine/weights/weight_shapes.h"

namespace vitrine {
namespace {

constexpr const char *kFormat = "format", *kCheckpoint = "vitrine", *kPreprocess = "preprocess";

/// What the metadata of a checkpoint of ours says.
CheckpointInfo info_from(const std::map<std::string, std::string>& metadata, const fs::path& path) {
  check_format_version(metadata, path);
  const auto read = [&](const std::string& key, auto& config) {
    const auto& text = checkpoint_entry(metadata, key, path);
    try {
      Settings::from_text(text, path.string() + " (" + key + ")").read_into(config);
    } catch (const UsageError& e) {
      fail("{}", e.what());  // the file's mistake, not the user's
    }
  };
  CheckpointInfo info;
  read("model", info.model);
  info.recipe = checkpoint_entry(metadata, "recipe", path);
  try {
    // Files come from anywhere, and terminals obey control characters.
    info.classes =
        plot::clean_texts(nlohmann::json::parse(checkpoint_entry(metadata, "classes", path)));
    info.epoch = std::stoll(checkpoint_entry(metadata, "epoch", path));
    info.step = std::stoll(checkpoint_entry(metadata, "step", path));
  } catch (const std::exception& e) {
    fail("checkpoint: {}: classes, epoch or step in its metadata cannot be read: {}", path.string(),
         e.what());
  }
  if (metadata.contains(kPreprocess)) read(kPreprocess, info.preprocess.emplace());
  return info;
}

/// The same of a file whose tensors can be those of the model that it describes.
CheckpointInfo checked_info(const TensorFile& file, const fs::path& path) {
  auto info = info_from(file.metadata, path);
  model_without_memory(info.model, file, path.string());
  return info;
}

}  // namespace

bool is_own_metadata(const std::map<std::string, std::string>& metadata) {
  const auto format = metadata.find(kFormat);
  return (format != metadata.end() && format->second == kCheckpoint) ||
         metadata.contains(kResumePosition);
}

const std::string& checkpoint_entry(const std::map<std::string, std::string>& metadata,
                                    const std::string& key, const fs::path& path) {
  const auto found = metadata.find(key);
  if (found != metadata.end()) return found->second;
  check(
      !metadata.contains(kResumePosition),
      "checkpoint: {} is the resume state of a run (for `vitrine train --resume`), not a model to "
      "use; give {} or the run folder",
      path.string(), (path.parent_path() / "best.safetensors").string());
  fail("checkpoint: {} has no '{}' in its metadata, so it is not complete", path.string(), key);
}

void set_weights(Model& model, const TensorFile& file, const std::string& origin,
                 const std::string& prefix) {
  load_weights(model, file, origin, LoadPolicy{}, prefix);
}

void save_checkpoint(const fs::path& path, const Model& model, const CheckpointInfo& info) {
  TensorFile file;
  file.tensors = named_weights(model);
  file.metadata = {{kFormat, kCheckpoint},
                   format_version_entry(),
                   {"model", to_yaml(info.model)},
                   {"classes", nlohmann::json(info.classes).dump()},
                   {"recipe", info.recipe},
                   {"epoch", std::to_string(info.epoch)},
                   {"step", std::to_string(info.step)}};
  if (info.preprocess) file.metadata[kPreprocess] = to_yaml(*info.preprocess);
  save_safetensors(path, file);
}

fs::path checkpoint_path(const fs::path& run_or_file) {
  if (!fs::is_directory(run_or_file)) {
    check(fs::exists(run_or_file),
          "checkpoint: {} does not exist; give a run folder or a file of weights",
          run_or_file.string());
    return run_or_file;
  }
  for (const auto* name : {"best.safetensors", "last.safetensors"}) {
    const auto path = run_or_file / "checkpoints" / name;
    if (fs::exists(path)) return path;
  }
  fail(
      "checkpoint: {} holds no checkpoints/best.safetensors or last.safetensors; is it a run "
      "folder?",
      run_or_file.string());
}

ModelChoice stored_model(const fs::path& run_or_file, const std::vector<std::string>& settings) {
  if (is_published(run_or_file)) return describe_weights(run_or_file, {.settings = settings}).model;
  const auto path = checkpoint_path(run_or_file);
  const auto file = load_safetensors(path);
  checked_info(file, path);
  return read_model(checkpoint_entry(file.metadata, "model", path), settings,
                    path.string() + " (model)");
}

CheckpointInfo stored_info(const fs::path& run_or_file) {
  if (is_published(run_or_file)) return describe_weights(run_or_file);
  const auto path = checkpoint_path(run_or_file);
  return checked_info(load_safetensors(path, TensorContent::ShapesOnly), path);
}

LoadedCheckpoint load_checkpoint(const fs::path& run_or_file, FileMemory memory) {
  if (is_published(run_or_file)) return import_weights(run_or_file, {.memory = memory}).checkpoint;
  const auto path = checkpoint_path(run_or_file);
  const auto file = load_safetensors(path);
  LoadedCheckpoint loaded{.model = nullptr, .info = info_from(file.metadata, path)};
  check_weights(*model_without_memory(loaded.info.model, file, path.string()), file, path.string());
  {
    const NoRandomInit loaded_below;
    loaded.model = loaded.info.model.build();
  }
  if (loaded.model->image_shape()) checkpoint_entry(file.metadata, kPreprocess, path);
  load_weights(*loaded.model, file, path.string(), {.memory = memory});
  loaded.model->eval();
  return loaded;
}

}  // namespace vitrine
