#include "vitrine/weights/checkpoint.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/weight_shapes.h"

namespace vitrine {
namespace {

const std::string& required(const TensorFile& file, const std::string& key, const fs::path& path) {
  const auto found = file.metadata.find(key);
  check(found != file.metadata.end(),
        "checkpoint: {} has no '{}' in its metadata, so it was not written by vitrine",
        path.string(), key);
  return found->second;
}

}  // namespace

void set_weights(Model& model, const TensorFile& file, const std::string& origin,
                 const std::string& prefix) {
  load_weights(model, file, origin, LoadPolicy{}, prefix);
}

void save_checkpoint(const fs::path& path, const Model& model, const CheckpointInfo& info) {
  TensorFile file;
  file.tensors = named_weights(model);
  file.metadata = {{"format", "vitrine"},
                   {"model", to_yaml(info.model)},
                   {"classes", nlohmann::json(info.classes).dump()},
                   {"recipe", info.recipe},
                   {"epoch", std::to_string(info.epoch)},
                   {"step", std::to_string(info.step)}};
  if (info.preprocess) file.metadata["preprocess"] = to_yaml(*info.preprocess);
  save_safetensors(path, file);
}

fs::path checkpoint_path(const fs::path& run_or_file) {
  if (!fs::is_directory(run_or_file)) {
    check(fs::exists(run_or_file),
          "checkpoint: {} does not exist; give a run folder or a .safetensors file",
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

LoadedCheckpoint load_checkpoint(const fs::path& run_or_file) {
  const auto path = checkpoint_path(run_or_file);
  const auto file = load_safetensors(path);
  const auto read = [&](const std::string& key, auto& config) {
    Settings::from_text(required(file, key, path), path.string() + " (" + key + ")")
        .read_into(config);
  };
  LoadedCheckpoint loaded;
  read("model", loaded.info.model);
  loaded.info.recipe = required(file, "recipe", path);
  try {
    loaded.info.classes = nlohmann::json::parse(required(file, "classes", path));
    loaded.info.epoch = std::stoll(required(file, "epoch", path));
    loaded.info.step = std::stoll(required(file, "step", path));
  } catch (const std::exception& e) {
    fail("checkpoint: {}: classes, epoch or step in its metadata cannot be read: {}", path.string(),
         e.what());
  }
  check_weights(*model_without_memory(loaded.info.model, file, path.string()), file, path.string());
  loaded.model = loaded.info.model.build();
  if (loaded.model->image_shape()) read("preprocess", loaded.info.preprocess.emplace());
  set_weights(*loaded.model, file, path.string());
  loaded.model->eval();
  return loaded;
}

}  // namespace vitrine
