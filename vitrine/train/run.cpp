#include "vitrine/train/run.h"

#include <torch/torch.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "vitrine/core/error.h"
#include "vitrine/core/folder_lock.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/peak_memory.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/device.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/backbone.h"
#include "vitrine/models/model.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/train/backbone_maps.h"
#include "vitrine/train/distributed/worker_group.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/hparams.h"
#include "vitrine/train/init_backbone.h"
#include "vitrine/train/init_weights.h"
#include "vitrine/train/run_records.h"
#include "vitrine/train/run_state.h"
#include "vitrine/train/teacher.h"
#include "vitrine/train/trainer.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine {
namespace {

/// "epoch 3/10: train accuracy 81.20 % (loss 0.5123), validation accuracy 79.00 % (loss 0.6012),
/// best 80.00 % at epoch 2, 12.3 s"; the best epoch so far is marked.
std::string epoch_text(const EpochSummary& epoch, const Objective& objective) {
  const auto selection = objective.selection_metric();
  const auto all = objective.metrics();
  auto text = fmt::format("epoch {}/{}: train {}", epoch.epoch, epoch.epochs,
                          metrics_text(epoch.train, all, selection));
  if (!epoch.validation.empty())
    text += ", validation " + metrics_text(epoch.validation, all, selection);
  if (epoch.best_epoch == epoch.epoch)
    text += ", * best so far";
  else if (!epoch.best.empty())
    text += fmt::format(", best {} at epoch {}",
                        selection.text(metric_value(epoch.best, selection.name)), epoch.best_epoch);
  return text + ", " + duration_text(epoch.seconds);
}

/// An experiment whose recipe, data and model fit, in its folder.
class Run {
 public:
  Run(const Recipe& recipe, const RunOptions& options, const WorkerGroup& group,
      const RunFolder& folder, const Splits& data, std::shared_ptr<const Teacher> teacher)
      : recipe_(recipe),
        options_(options),
        group_(group),
        folder_(folder),
        data_(data),
        objective_(make_objective(data, ObjectiveSettings(recipe.train, std::move(teacher)))) {}

  RunOutcome run(std::shared_ptr<Model> model, bool resume, RunFingerprint fingerprint,
                 int64_t threads) {
    say((resume ? "resume " : "run folder ") + folder_.path().string());
    auto outcome =
        train({.recipe = recipe_,
               .folder = folder_,
               .objective = *objective_,
               .resume = resume,
               .fingerprint = std::move(fingerprint),
               .device = options_.device,
               .threads = threads,
               .group = &group_,
               .show_progress = options_.show_progress && group_.leads(),
               .on_start =
                   [&] {
                     if (options_.write_reports && group_.leads())
                       records_.emplace(folder_, objective_->metrics(),
                                        objective_->selection_metric(), hparams_of(recipe_));
                   },
               .on_metrics = [&](const MetricsLine& line) { record(line); },
               .on_epoch = [&](const EpochSummary& epoch) { say(epoch_text(epoch, *objective_)); }},
              std::move(model), data_);
    outcome.peak_bytes = process_peak_bytes().value_or(0);
    if (outcome.stop_reason == StopReason::Interrupted || !group_.leads()) return outcome;
    say(fmt::format("{} after {} epochs, {} steps, {}", stop_reason_text(outcome.stop_reason),
                    outcome.epochs, outcome.steps, duration_text(outcome.seconds)));
    if (!test_best(outcome)) {
      outcome.stop_reason = StopReason::Interrupted;
      return outcome;
    }
    outcome.checkpoint_bytes = static_cast<int64_t>(fs::file_size(folder_.best()));
    write_run_outcome(folder_.result(), outcome);
    return outcome;
  }

 private:
  void say(const std::string& text) const {
    if (options_.on_message && group_.leads()) options_.on_message(text);
  }

  /// A figure is not worth a run: what goes wrong is only said.
  template <typename Action>
  void guarded(const Action& action) const {
    try {
      action();
    } catch (const std::exception& e) {
      say(fmt::format("note: {}", e.what()));
    }
  }

  void record(const MetricsLine& line) {
    if (records_) guarded([&] { records_->add(line); });
    if (options_.on_metrics) options_.on_metrics(line);
  }

  /// Evaluates the best checkpoint on the test split and leaves the report in the run folder; false
  /// if the user interrupted that.
  bool test_best(RunOutcome& outcome) {
    const auto [model, info] = load_checkpoint(folder_.best());
    const auto device = open_device(options_.device);
    model->to(device);
    const auto report = options_.write_reports ? objective_->make_report() : nullptr;
    const bool over_budget = outcome.stop_reason == StopReason::OverBudget;
    std::vector<Report*> reports;
    if (report) reports.push_back(report.get());
    const auto [loss, metrics, examples, interrupted] =
        evaluate(*model, *data_.test, *objective_,
                 {.batch = recipe_.data.batch,
                  .workers = recipe_.data.workers,
                  .device = device,
                  .label = "test",
                  .max_seconds = over_budget ? evaluation_budget(recipe_.train) : 0,
                  .stop_on_interrupt = true,
                  .reports = reports});
    if (interrupted) return false;
    outcome.test = metrics;
    const MetricsLine line{"test", info.epoch, info.step, static_cast<double>(std::time(nullptr)),
                           metrics};
    MetricsFile(folder_.metrics(), /*keep_bytes=*/-1).add(line);
    say(fmt::format("test {} with the weights of epoch {}{}",
                    metrics_text(metrics, objective_->metrics(), objective_->selection_metric()),
                    info.epoch,
                    examples < data_.test->size()
                        ? fmt::format(", on {} of {} examples", examples, data_.test->size())
                        : ""));
    if (report) guarded([&] { report->save(folder_.path()); });
    record(line);
    return true;
  }

  const Recipe& recipe_;
  const RunOptions& options_;
  const WorkerGroup& group_;
  const RunFolder& folder_;
  const Splits& data_;
  std::unique_ptr<Objective> objective_;
  std::optional<RunRecords> records_;
};

void lock_run(std::optional<FolderLock>& lock, const fs::path& folder) {
  lock.emplace(folder, fmt::format("run: another process is at work in {}; wait for its end",
                                   folder.string()));
}

/// A folder that is given is locked before anything is looked up or written there: another process
/// may be given the same.
RunFolder lock_new_folder(const Recipe& recipe, const RunOptions& options,
                          std::optional<FolderLock>& lock) {
  if (options.folder.empty()) {
    auto folder = RunFolder::create(options.out, recipe.name);
    lock_run(lock, folder.path());
    return folder;
  }
  make_folder(options.folder);
  lock_run(lock, options.folder);
  return RunFolder::create_at(options.folder);
}

RunFolder make_run_folder(const Recipe& recipe, const RunOptions& options,
                          std::optional<FolderLock>& lock) {
  auto folder = lock_new_folder(recipe, options, lock);
  write_file_atomically(folder.recipe(), to_yaml(recipe));
  if (options.write_reports)
    write_file_atomically(folder.path() / "model_summary.txt",
                          summary_text(recipe.model.name(), summarize(recipe.model)));
  return folder;
}

/// The recipe's model with the weights that the run starts from; `say` hears what became of them.
std::shared_ptr<Model> new_model(Recipe& recipe, const Splits& data,
                                 const std::function<void(const std::string&)>& say) {
  if (!recipe.init.empty()) {
    InitWeights weights(recipe.init);
    weights.fit(recipe, data);
    auto model = build_for_training(recipe, data);
    say(recipe.scratch ? fmt::format("init {}: random weights, as `scratch` wants", recipe.init)
                       : weights.load_into(*model));
    for (const auto& note : weights.notes(recipe)) say(note);
    return model;
  }
  auto model = build_for_training(recipe, data);
  if (!recipe.init_backbone.empty()) {
    const InitBackbone weights(recipe.init_backbone);
    say(weights.load_into(*model));
    for (const auto& note : weights.notes(recipe)) say(note);
  }
  return model;
}

/// The recipe with batches that `ranks` processes can share: parts that one process would
/// accumulate.
Recipe split_for(Recipe recipe, int64_t ranks) {
  if (recipe.train.accumulate % ranks == 0) return recipe;
  check(recipe.data.batch % ranks == 0,
        "train: data.batch {} cannot be split among {} ranks; choose a multiple of {}",
        recipe.data.batch, ranks, ranks);
  recipe.data.batch /= ranks;
  recipe.train.accumulate *= ranks;
  return recipe;
}

/// Rank 0 makes the folder and locks it, the others open it.
RunFolder shared_run_folder(const Recipe& recipe, const RunOptions& options,
                            const WorkerGroup& group, std::optional<FolderLock>& lock) {
  if (group.size() == 1) return make_run_folder(recipe, options, lock);
  std::optional<RunFolder> made;
  if (group.leads()) made = make_run_folder(recipe, options, lock);
  const auto path = group.from_leader(made ? fs::absolute(made->path()).string() : "");
  return made ? *made : RunFolder::open(path);
}

/// Ranks that read other files would train something else than the recipe says.
void check_same_on_all(const WorkerGroup& group, const Recipe& recipe,
                       const RunFingerprint& fingerprint) {
  const auto text = to_yaml(recipe) + nlohmann::ordered_json(fingerprint).dump();
  check(group.from_leader(text) == text,
        "train: rank {} has another recipe or other data than rank 0; give all the same",
        group.rank());
}

RunOutcome run(Recipe recipe, const RunOptions& options, const std::optional<RunFolder>& stored) {
  const auto& group = WorkerGroup::or_alone(options.group);
  open_device(options.device);
  std::optional<FolderLock> lock;
  const auto say = [&](const std::string& text) {
    if (options.on_message && group.leads()) options.on_message(text);
  };
  if (stored && group.leads()) {
    lock_run(lock, stored->path());
    if (const auto note = recover_run_state(*stored); !note.empty()) say(note);
  }
  if (stored) group.barrier();  // the others read the state behind that
  recipe.data = resolved_data_config(recipe.data);
  const auto begun_with = stored ? read_run_position(*stored).threads : 0;
  int64_t threads = at::get_num_threads();
  if (options.threads)
    threads = set_up_runtime(*options.threads == 0 ? begun_with : *options.threads);
  if (stored && threads != begun_with)
    say("note: the run began with another number of threads, so its bits may differ");
  if (recipe.train.precision == Precision::BFloat16 && !has_fast_bfloat16(options.device))
    say("note: this device has no bf16 instructions, so bf16 will be slower than fp32");
  recipe.train.precision = training_precision(recipe.train.precision, options.device);
  Splits opened;
  if (options.data == nullptr) opened = open_data(recipe.data, static_cast<uint64_t>(recipe.seed));
  const auto& data = options.data == nullptr ? opened : *options.data;
  const auto teacher = open_teacher(recipe, data, options.device);
  if (teacher) say(fmt::format("teacher {}: {}", recipe.train.teacher, teacher->description()));
  auto model = options.model;
  if (!model) model = stored ? build_for_training(recipe, data) : new_model(recipe, data, say);
  const bool caches_maps = recipe.train.cache_backbone != MapCache::None,
             caches_logits = teacher && recipe.data.augment.off();
  std::optional<Splits> computed;  // the data with what is computed once, before the first epoch
  if (caches_maps || caches_logits) {
    if (!group.leads()) group.barrier();  // rank 0 computes, the others find its cache
    catch_interrupts();
    if (caches_maps && stored) load_run_weights(*stored, *model);
    computed = caches_maps ? backbone_map_splits(recipe, data, *model,
                                                 {.cache = options.cache,
                                                  .device = options.device,
                                                  .on_message = options.on_message})
                           : with_teacher_logits(recipe, data, *teacher, options.cache, say);
    if (group.leads()) group.barrier();
    if (!computed)
      return {.stop_reason = StopReason::Interrupted, .folder = stored ? stored->path() : ""};
  }
  const auto fingerprint = fingerprint_of(recipe, data);
  check_same_on_all(group, recipe, fingerprint);
  const auto folder = stored ? *stored : shared_run_folder(recipe, options, group, lock);
  std::optional<BackboneBypass> bypass;
  if (caches_maps) bypass.emplace();
  return Run(recipe, options, group, folder, computed ? *computed : data, teacher)
      .run(std::move(model), stored.has_value(), fingerprint, threads);
}

}  // namespace

RunOutcome run_recipe(const Recipe& recipe, const RunOptions& options) {
  return run(split_for(recipe, WorkerGroup::or_alone(options.group).size()), options, std::nullopt);
}

RunOutcome resume_run(const fs::path& folder, const RunOptions& options) {
  const auto stored = RunFolder::open(folder);
  return run(read_stored_recipe(stored), options, stored);
}

}  // namespace vitrine
