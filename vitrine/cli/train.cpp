#include <cmath>
#include <ctime>
#include <optional>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/device.h"
#include "vitrine/inspect/summary.h"
#include "vitrine/models/model.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/train/run_records.h"
#include "vitrine/train/run_result.h"
#include "vitrine/train/run_state.h"
#include "vitrine/train/trainer.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::cli {
namespace {

struct TrainOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string resume;
  std::string out = "runs";
  std::string run;
  std::string device = "cpu";
  int64_t threads = 0;
};

/// Scores the best checkpoint on the test part and leaves the report in the run folder.
MetricsLine test_best(const RunFolder& folder, const Recipe& recipe, const Splits& data,
                      const torch::Device& device, TrainEnd end, Streams s) {
  const auto [model, info] = load_checkpoint(folder.best());
  model->to(device);
  int64_t examples = 0;
  const EvaluateOptions options{
      .batch = recipe.data.batch,
      .workers = recipe.data.workers,
      .device = device,
      .label = "test",
      .most_seconds = end == TrainEnd::OverBudget ? evaluation_budget(recipe.train) : 0,
      .on_batch = [&](const torch::Tensor&, const torch::Tensor& targets) {
        examples += targets.size(0);
      }};
  const auto objective = make_objective(data.task, /*label_smoothing=*/0);
  Averages averages;
  if (data.task == Task::Classes) {
    ConfusionMatrix matrix(data.classes);
    averages = evaluate_classes(*model, *data.test, options, matrix);
    write_class_report(folder, matrix);
  } else {
    averages = evaluate(*model, *data.test, *objective, options);
  }
  const MetricsLine line{"test", info.epoch, info.step, static_cast<double>(std::time(nullptr)),
                         scores_of(averages, *objective)};
  MetricsFile(folder.metrics(), /*keep_bytes=*/-1).add(line);
  s.err << fmt::format("test {} with the weights of epoch {}{}\n",
                       scores_text(line.values, objective->watched()), info.epoch,
                       examples < data.test->size()
                           ? fmt::format(", on {} of {} examples", examples, data.test->size())
                           : "");
  return line;
}

/// How a run ended: for result.json and for people.
struct EndWords {
  std::string name, text;
};

EndWords end_words(TrainEnd end) {
  switch (end) {
    case TrainEnd::Finished:
      return {"finished", "done"};
    case TrainEnd::StoppedEarly:
      return {"stopped_early", "stopped early"};
    case TrainEnd::ReachedGoal:
      return {"reached", "reached its goal"};
    case TrainEnd::OverBudget:
      return {"over_budget", "stopped at its time budget"};
    case TrainEnd::Interrupted:
      return {"interrupted", "interrupted"};
  }
  fail("train: end {} has no name", static_cast<int>(end));
}

int train_in(const RunFolder& folder, const Recipe& recipe, const TrainOptions& o, int64_t threads,
             std::shared_ptr<Model> model, const Splits& data, Streams s) {
  const bool resume = !o.resume.empty();
  s.err << (resume ? "resume " : "run folder ") << folder.path().string() << '\n';
  const auto objective = make_objective(data.task, recipe.train.label_smoothing);
  std::optional<RunRecords> records;
  const auto record = [&](const MetricsLine& line) {
    try {
      records->add(line);
    } catch (const Error& e) {  // a figure is not worth a run
      s.err << "note: " << e.what() << '\n';
    }
  };
  const auto result = train({.recipe = recipe,
                             .folder = folder,
                             .objective = *objective,
                             .resume = resume,
                             .device = o.device,
                             .threads = threads,
                             .on_start = [&] { records.emplace(folder); },
                             .on_metrics = record},
                            std::move(model), data);
  if (result.end == TrainEnd::Interrupted) {
    s.err << "interrupted; go on with: vitrine train --resume " << folder.path().string() << '\n';
    return 1;
  }
  const auto end = end_words(result.end);
  s.err << fmt::format("{} after {} epochs, {} steps, {}\n", end.text, result.epochs, result.steps,
                       duration_text(result.seconds));
  const auto test = test_best(folder, recipe, data, open_device(o.device), result.end, s);
  record(test);
  const bool counts_right = objective->watched() == "accuracy";
  write_run_outcome(folder.result(),
                    {.end = end.name,
                     .epochs = result.epochs,
                     .steps = result.steps,
                     .seconds = result.seconds,
                     .accuracy = test.value("accuracy"),
                     .loss = test.value("loss"),
                     .validation_accuracy = counts_right ? result.best : std::nan(""),
                     .parameters = summarise(recipe.model).parameters,
                     .checkpoint_bytes = static_cast<int64_t>(fs::file_size(folder.best()))});
  s.out << folder.path().string() << '\n';
  return 0;
}

/// A resumed run keeps its own recipe; one that is given as well must say the same.
void check_same_recipe(const TrainOptions& o, const Recipe& stored) {
  if (o.recipe.empty()) {
    check(o.overrides.empty(), "train: a resumed run keeps its own recipe; give no overrides");
    return;
  }
  auto given = read_recipe(o.recipe, o.overrides);
  given.data = resolved(given.data);
  check(to_yaml(given) == to_yaml(stored),
        "train: {} is not the recipe of {}; leave it out to go on with the run's own", o.recipe,
        o.resume);
}

/// Nothing is written before the recipe, the data and the model have proved to fit.
int run_train(const TrainOptions& o, Streams s) {
  const bool resume = !o.resume.empty();
  check(resume || !o.recipe.empty(),
        "train: name a recipe (recipes/*.yaml) or, with --resume, a run folder");
  open_device(o.device);
  const auto stored = resume ? std::optional(RunFolder::open(o.resume)) : std::nullopt;
  auto recipe = read_recipe(resume ? stored->recipe().string() : o.recipe,
                            resume ? std::vector<std::string>() : o.overrides);
  recipe.data = resolved(recipe.data);
  if (resume) check_same_recipe(o, recipe);
  const auto begun_with = resume ? read_run_position(*stored).threads : 0;
  const auto threads = set_up_runtime(o.threads == 0 ? begun_with : o.threads);
  if (resume && threads != begun_with)
    s.err << "note: the run began with another number of threads, so its bits may differ\n";
  if (recipe.train.precision == Precision::BFloat16 && !has_fast_bfloat16(o.device))
    s.err << "note: this device has no bf16 instructions, so bf16 will be slower than fp32\n";
  const auto data = open_data(recipe.data, static_cast<uint64_t>(recipe.seed));
  auto model = build_for_training(recipe, data);
  const auto folder = resume          ? *stored
                      : o.run.empty() ? RunFolder::create(o.out, recipe.name)
                                      : RunFolder::create_at(o.run);
  if (!resume) {
    write_file_atomically(folder.recipe(), to_yaml(recipe));
    write_file_atomically(folder.path() / "model_summary.txt",
                          summary_text(recipe.model.name(), summarise(recipe.model)));
  }
  return train_in(folder, recipe, o, threads, std::move(model), data, s);
}

}  // namespace

Command train_command() {
  return {
      "train", "train a model as a recipe says", [](CLI::App& app) {
        auto o = std::make_shared<TrainOptions>();
        app.add_option("recipe", o->recipe, "recipe file (YAML)");
        app.add_option("overrides", o->overrides, "key.path=value, such as train.epochs=3");
        app.add_option("--resume", o->resume, "go on with this run folder");
        app.add_option("--out", o->out, "where run folders are made")->capture_default_str();
        app.add_option("--run", o->run, "the run folder itself; by default OUT/NAME-DATE-TIME");
        app.add_option("--device", o->device, "cpu or cuda")->capture_default_str();
        app.add_option("--threads", o->threads, "threads; 0 = all cores")->capture_default_str();
        return [o](Streams s) { return run_train(*o, s); };
      }};
}

}  // namespace vitrine::cli
