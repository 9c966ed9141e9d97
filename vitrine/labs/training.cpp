#include "vitrine/labs/training.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>

#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/data/examples.h"
#include "vitrine/models/model.h"
#include "vitrine/train/config.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/run.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::labs {

LabRun train_in_lab(const Recipe& recipe, const std::shared_ptr<Model>& model, const Splits& data,
                    const fs::path& folder) {
  if (fs::exists(folder / "recipe.yaml")) fs::remove_all(folder);  // a run of an earlier lesson
  const auto selection = make_objective(data, recipe.train.label_smoothing)->selection_metric();
  LabRun run;
  const auto note_epoch = [&](const MetricsLine& line) {
    const double value = line.value("validation_" + selection.name);
    if (line.kind != "epoch" || std::isnan(value)) return;
    run.epochs.push_back(static_cast<double>(line.epoch));
    run.train_loss.push_back(line.value("train_loss"));
    run.validation_curve.push_back(value);
  };
  run.outcome = run_recipe(recipe, {.threads = std::nullopt,
                                    .folder = folder,
                                    .show_progress = false,  // the lab has its own, over all runs
                                    .write_reports = false,
                                    .data = &data,
                                    .model = model,
                                    .on_metrics = note_epoch});
  check(run.outcome.stop_reason != StopReason::Interrupted, "lab: interrupted while it trained {}",
        recipe.name);
  const auto best = RunFolder::open(folder).best();
  set_weights(*model, load_safetensors(best), best.string());
  model->eval();
  return run;
}

Recipe recipe_of(const WaveRecipe& wish) {
  Recipe recipe;
  Settings::from_text(
      fmt::format("name: {name}\n"
                  "seed: {seed}\n"
                  "model: {{{model}}}\n"
                  "data: {{dataset: {{name: waves, length: {length}}}, batch: {batch}}}\n"
                  "train:\n"
                  "  epochs: {epochs}\n"
                  "  optimizer: {{kind: adam, lr: {rate}, weight_decay: 0}}\n"
                  "  schedule: {{kind: {schedule}, warmup_epochs: {warmup}}}\n"
                  "  clip: {clip}\n",
                  fmt::arg("name", wish.name), fmt::arg("seed", wish.seed),
                  fmt::arg("model", wish.model), fmt::arg("length", wish.length),
                  fmt::arg("batch", wish.batch), fmt::arg("epochs", wish.epochs),
                  fmt::arg("rate", wish.rate), fmt::arg("schedule", wish.schedule),
                  fmt::arg("warmup", wish.warmup_epochs), fmt::arg("clip", wish.clip)),
      wish.name)
      .read_into(recipe);
  recipe.validate();
  return recipe;
}

double repeated_last_error(const Splits& waves) {
  const auto test = all_examples(*waves.test);
  return torch::mse_loss(test.inputs.select(1, -1), test.targets).item<double>();
}

}  // namespace vitrine::labs
