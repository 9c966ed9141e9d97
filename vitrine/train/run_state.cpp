#include "vitrine/train/run_state.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/file_writing.h"
#include "vitrine/models/model.h"
#include "vitrine/weights/checkpoint.h"
#include "vitrine/weights/format_version.h"

namespace vitrine {
namespace {

constexpr const char* kModel = "model.";
constexpr const char* kAverage = "average.";
constexpr const char* kOptimizer = "optimizer.";

void append(TensorFile& file, const std::string& prefix, const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) file.tensors.emplace_back(prefix + name, tensor);
}

std::string to_text(const RunPosition& p) {
  return nlohmann::ordered_json{{"epoch", p.epoch},
                                {"batch", p.batch},
                                {"step", p.step},
                                {"best", metrics_json(p.best)},
                                {"best_epoch", p.best_epoch},
                                {"evaluations_without_gain", p.evaluations_without_gain},
                                {"finished", p.finished},
                                {"threads", p.threads},
                                {"objective", p.objective},
                                {"fingerprint", p.fingerprint},
                                {"metrics_bytes", p.metrics_bytes},
                                {"seconds", p.seconds},
                                {"sums", p.running.sums()},
                                {"names", p.running.names()}}
      .dump();
}

RunPosition position_of(const std::map<std::string, std::string>& metadata, const fs::path& path) {
  check_format_version(metadata, path);
  const auto found = metadata.find(kResumePosition);
  check(found != metadata.end(), "resume: {} is not a resume state", path.string());
  try {
    const auto j = nlohmann::ordered_json::parse(found->second);
    return {.epoch = j.at("epoch"),
            .batch = j.at("batch"),
            .step = j.at("step"),
            .best = metrics_of_json(j.at("best")),
            .best_epoch = j.at("best_epoch"),
            .evaluations_without_gain = j.at("evaluations_without_gain"),
            .finished = j.at("finished"),
            .threads = j.at("threads"),
            .objective = j.value("objective", ""),
            .fingerprint = j.value("fingerprint", RunFingerprint{}),
            .metrics_bytes = j.at("metrics_bytes"),
            .seconds = j.at("seconds"),
            .running = MetricAccumulator::restored(j.at("sums"), j.at("names"))};
  } catch (const nlohmann::json::exception& e) {
    fail("resume: {}: its position cannot be read: {}", path.string(), e.what());
  }
}

void check_exists(const RunFolder& folder) {
  check(
      fs::exists(folder.resume()),
      "resume: {} does not exist; the run was stopped before its first checkpoint, start it again",
      folder.resume().string());
}

void check_whole(const fs::path& state) { position_of(load_safetensors(state).metadata, state); }

/// Whether a file system has no hard links, or no more for this file.
bool cannot_link(const std::error_code& error) {
  return error == std::errc::operation_not_permitted || error == std::errc::too_many_links ||
         error == std::errc::operation_not_supported || error == std::errc::function_not_supported;
}

/// A link, so that there is a whole state at any moment, even if the disk is full.
void keep_as_previous(const RunFolder& folder) {
  const auto state = folder.resume(), previous = folder.previous_resume(),
             temporary = temporary_path(previous);
  std::error_code error;
  // Killed between this and the next state, a run has both names for one file already, and
  // renaming one name of a file to another of its names would leave both.
  if (!fs::exists(state) || fs::equivalent(state, previous, error)) return;
  fs::create_hard_link(state, temporary, error);
  if (cannot_link(error)) return;
  if (!error) fs::rename(temporary, previous, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  fail("resume: cannot keep {} as {}: {}", state.string(), previous.string(), error.message());
}

}  // namespace

void save_run_state(const RunFolder& folder, const Model& model, const Model* average,
                    const Optimizer& optimizer, const RunPosition& position) {
  TensorFile file;
  append(file, kModel, named_weights(model));
  if (average != nullptr) append(file, kAverage, named_weights(*average));
  append(file, kOptimizer, optimizer.state());
  file.metadata = {{kResumePosition, to_text(position)}, format_version_entry()};
  keep_as_previous(folder);
  save_safetensors(folder.resume(), file);
}

std::string recover_run_state(const RunFolder& folder) {
  try {
    check_exists(folder);
    check_whole(folder.resume());
    return "";
  } catch (const NewerFormatError&) {
    throw;  // whole, and further than the state before it
  } catch (const Error& damage) {
    if (!fs::exists(folder.previous_resume())) throw;
    check_whole(folder.previous_resume());
    fs::rename(folder.previous_resume(), folder.resume());
    return fmt::format("note: {}. The run continues from the state before that one", damage.what());
  }
}

RunPosition load_run_state(const RunFolder& folder, Model& model, Model* average,
                           Optimizer& optimizer) {
  check_exists(folder);
  const auto file = load_safetensors(folder.resume());
  const auto origin = folder.resume().string();
  auto position = position_of(file.metadata, folder.resume());
  set_weights(model, file, origin, kModel);
  if (average != nullptr) set_weights(*average, file, origin, kAverage);
  for (auto& [name, moment] : optimizer.state()) {
    const auto* stored = file.find(kOptimizer + name);
    check(stored != nullptr && stored->sizes() == moment.sizes(),
          "resume: {} has no fitting optimizer state '{}'; resume with the recipe it was made with",
          origin, name);
    torch::Tensor target = moment;
    target.copy_(*stored);
  }
  optimizer.steps_done = position.step;
  return position;
}

void load_run_weights(const RunFolder& folder, Model& model) {
  check_exists(folder);
  set_weights(model, load_safetensors(folder.resume()), folder.resume().string(), kModel);
}

RunPosition read_run_position(const RunFolder& folder) {
  check_exists(folder);
  return position_of(read_safetensors_metadata(folder.resume()), folder.resume());
}

}  // namespace vitrine
