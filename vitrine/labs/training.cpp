#include "vitrine/labs/training.h"

#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/run.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::labs {

Batch all_examples(const BatchSource& source) {
  std::vector<int64_t> indices(source.size());
  std::iota(indices.begin(), indices.end(), 0);
  return source.load(indices, /*epoch=*/-1);
}

LabRun train_in_lab(const Recipe& recipe, std::shared_ptr<Model> model, const Splits& data,
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

}  // namespace vitrine::labs
