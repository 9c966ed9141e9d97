#include "vitrine/formats/checkpoint.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"

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

NamedTensors named_weights(const Model& model) {
  NamedTensors result;
  for (const auto& item : model.named_parameters()) result.emplace_back(item.key(), item.value());
  for (const auto& item : model.named_buffers()) result.emplace_back(item.key(), item.value());
  return result;
}

void set_weights(Model& model, const TensorFile& file, const std::string& origin,
                 const std::string& prefix) {
  const torch::NoGradGuard no_grad;
  auto weights = named_weights(model);
  for (auto& [name, weight] : weights) {
    const auto* stored = file.find(prefix + name);
    check(stored != nullptr, "checkpoint: {} has no weight '{}'; it belongs to another model",
          origin, name);
    check(stored->sizes() == weight.sizes(),
          "checkpoint: {}: weight '{}' is {}, the model's is {}; it belongs to another model or "
          "other settings",
          origin, name, fmt::join(stored->sizes(), "x"), fmt::join(weight.sizes(), "x"));
  }
  if (prefix.empty())
    for (const auto& [name, stored] : file.tensors)
      check(std::any_of(weights.begin(), weights.end(),
                        [&name = name](const auto& w) { return w.first == name; }),
            "checkpoint: {}: weight '{}' is unknown to the model; it belongs to another model",
            origin, name);
  for (auto& [name, weight] : weights) weight.copy_(*file.find(prefix + name));
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
  loaded.model = loaded.info.model.build();
  if (loaded.model->image_shape()) read("preprocess", loaded.info.preprocess.emplace());
  set_weights(*loaded.model, file, path.string());
  loaded.model->eval();
  return loaded;
}

}  // namespace vitrine
