#include "vitrine/labs/training.h"

#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "vitrine/core/error.h"
#include "vitrine/models/model.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/trainer.h"
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
  const auto run_folder = RunFolder::create_at(folder);
  write_file_atomically(run_folder.recipe(), to_yaml(recipe));
  const auto objective = make_objective(data.task, recipe.train.label_smoothing);
  LabRun run;
  const auto note_epoch = [&](const MetricsLine& line) {
    const double score = line.value("validation_" + objective->watched());
    if (line.kind != "epoch" || std::isnan(score)) return;
    run.epochs.push_back(static_cast<double>(line.epoch));
    run.train_loss.push_back(line.value("train_loss"));
    run.validation_curve.push_back(score);
  };
  const auto result = train({.recipe = recipe,
                             .folder = run_folder,
                             .objective = *objective,
                             .show_progress = false,  // the lab has its own, over all its runs
                             .on_metrics = note_epoch},
                            model, data);
  check(result.end != TrainEnd::Interrupted, "lab: interrupted while it trained {}", recipe.name);
  run.validation = result.best;
  run.seconds = result.seconds;
  set_weights(*model, load_safetensors(run_folder.best()), run_folder.best().string());
  model->eval();
  run.test = evaluate(*model, *data.test, *objective,
                      {.batch = recipe.data.batch, .workers = recipe.data.workers, .label = "test"})
                 .mean(objective->watched());
  return run;
}

}  // namespace vitrine::labs
