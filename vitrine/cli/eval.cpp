#include <algorithm>
#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/device.h"
#include "vitrine/infer/precision.h"
#include "vitrine/models/model.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/train/config.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/init_weights.h"
#include "vitrine/train/mistakes.h"
#include "vitrine/train/objective.h"
#include "vitrine/weights/checkpoint.h"
#include "vitrine/weights/class_names.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;

struct EvalOptions {
  std::string model;
  std::vector<std::string> overrides;
  std::string split = "test";
  int64_t limit = 0;
  std::string device = "cpu";
  Precision precision = Precision::Float32;
  int64_t threads = 0;
  int64_t mistakes = 0;
  bool json = false;
};

/// Only the data can differ from training: the weights are those of the checkpoint's model.
void check_override(const std::string& assignment) {
  const auto key = assignment.substr(0, assignment.find('='));
  check_usage(key == "seed" || key.starts_with("data."),
              "eval: {} cannot be changed for a trained model; only data.* and seed can", key);
}

/// The recipe that the checkpoint was trained with, with what the user wants otherwise. Published
/// weights have none, so the user names the data.
Recipe evaluation_recipe(const CheckpointInfo& info, const EvalOptions& o) {
  const bool named = std::any_of(o.overrides.begin(), o.overrides.end(), [](const auto& setting) {
    return setting.starts_with("data.dataset");
  });
  check(!info.recipe.empty() || named,
        "eval: {} does not say which data it was trained with; name some with data.dataset=NAME",
        o.model);
  Recipe unknown;
  unknown.model = info.model;
  auto settings = Settings::from_text(info.recipe.empty() ? to_yaml(unknown) : info.recipe,
                                      o.model + " (recipe)");
  for (const auto& assignment : o.overrides) settings.override_with(assignment);
  Recipe recipe;
  settings.read_into(recipe);
  for (const auto& assignment : o.overrides) check_override(assignment);
  as_usage([&] { recipe.data.validate(); });
  recipe.data = resolved_data_config(recipe.data);
  return recipe;
}

/// The data with at least one split, and the images of that split where there are such.
struct EvalData {
  Splits splits;
  std::shared_ptr<const Dataset> images{};
};

/// The images of one split, prepared as the checkpoint says.
EvalData open_images(const Recipe& recipe, const CheckpointInfo& info, Split split) {
  const auto seed = static_cast<uint64_t>(recipe.seed);
  EvalData data{.splits = {}, .images = open_image_split(recipe.data, seed, split)};
  data.splits.classes = data.images->classes();
  data.splits.get(split) =
      std::make_unique<ImageBatches>(data.images, info.preprocess.value(), AugmentConfig(), seed);
  return data;
}

/// The data with at least the split `split`.
EvalData open_splits(const Recipe& recipe, const CheckpointInfo& info, Task task, Split split) {
  auto data = task == Task::Classes
                  ? open_images(recipe, info, split)
                  : EvalData{open_data(recipe.data, static_cast<uint64_t>(recipe.seed))};
  const auto& splits = data.splits;
  check(splits.task == task, "eval: the model's task is not that of data set '{}'",
        recipe.data.dataset.name());
  check(task == Task::Classes ? are_same_classes(splits.classes, info.classes)
                              : splits.classes == info.classes,
        "eval: the {} of {} are not those that the model was trained with",
        task == Task::Classes ? "classes" : "words", recipe.data.dataset.name());
  return data;
}

/// The folder of a run, or that of a checkpoint.
fs::path folder_of_model(const fs::path& model) {
  return fs::is_directory(model) ? model : fs::absolute(model).parent_path();
}

/// The sheet of the worst mistakes; null if none is wanted.
std::unique_ptr<MistakesReport> mistakes_report(const EvalOptions& o, const EvalData& data) {
  if (o.mistakes == 0) return nullptr;
  check(data.images != nullptr, "eval: --mistakes needs a model that classifies images");
  check_usage(o.limit == 0, "eval: --mistakes looks at the whole split; leave out --limit {}",
              o.limit);
  return std::make_unique<MistakesReport>(
      data.images, o.mistakes, "mistakes_" + o.split,
      fmt::format("Mistakes on the {} set with the highest loss: true class → predicted class",
                  o.split));
}

/// A line per metric: "accuracy  98.25 %".
std::string table_of(const Metrics& values, const std::vector<Metric>& metrics) {
  size_t width = 0;
  for (const auto& metric : metrics) width = std::max(width, metric.name.size());
  std::string text;
  for (const auto& metric : metrics)
    text += fmt::format("{:<{}}  {}\n", metric.name, width,
                        metric.text(metric_value(values, metric.name)));
  return text;
}

int run_eval(const EvalOptions& o, Streams streams) {
  set_up_runtime(o.threads);
  const auto split = split_of_name(o.split);
  const auto device = open_device(o.device);
  const auto [model, info] = load_checkpoint(o.model);
  auto recipe = evaluation_recipe(info, o);
  keep_palette(recipe, *model);
  auto data = open_splits(recipe, info, model->task(), split);
  const auto& batches = *data.splits.get(split);
  const auto objective = make_objective(data.splits, ObjectiveSettings(/*smoothing=*/0));
  const auto report = objective->make_report();
  const auto mistakes = mistakes_report(o, data);
  std::vector<Report*> reports;
  if (report) reports.push_back(report.get());
  if (mistakes) reports.push_back(mistakes.get());
  model->to(device);
  set_precision(*model, o.precision, info.model.name());
  say_precision(o.precision, streams.err);
  const auto evaluation = evaluate(*model, batches, *objective,
                                   {.batch = recipe.data.batch,
                                    .workers = recipe.data.workers,
                                    .device = device,
                                    .label = o.split,
                                    .max_examples = o.limit,
                                    .reports = reports});
  const bool sampled = evaluation.examples < batches.size();
  if (mistakes) {
    mistakes->save(folder_of_model(o.model));
    streams.err << fmt::format("eval: {}\n",
                               mistakes->worst().empty()
                                   ? "no mistakes, so no sheet of them"
                                   : "wrote " + mistakes->sheet(folder_of_model(o.model)).string());
  }
  if (o.json) {
    ordered_json json = {{"model", o.model},
                         {"dataset", recipe.data.dataset.name()},
                         {"split", split_name(split)},
                         {"precision", precision_name(o.precision)},
                         {"examples", evaluation.examples}};
    if (sampled) json["examples_of_split"] = batches.size();
    json.update(metrics_json(evaluation.metrics));
    for (const auto* shown : reports) json.update(shown->json());
    streams.out << json_line(json);
    return 0;
  }
  streams.out << fmt::format(
      "{} on {}{} {} examples of {}{}\n{}", o.model, evaluation.examples,
      sampled ? fmt::format(" of {}", batches.size()) : "", split_name(split),
      recipe.data.dataset.name(),
      sampled ? fmt::format("; an estimate from {} chosen at random", evaluation.examples) : "",
      table_of(evaluation.metrics, objective->metrics()));
  for (const auto* shown : reports) streams.out << '\n' << shown->text();
  return 0;
}

}  // namespace

Command eval_command() {
  return {"eval", "evaluate a trained model on a split of its data", [](CLI::App& app) {
            const auto o = std::make_shared<EvalOptions>();
            add_model(app, "model", o->model);
            app.add_option("overrides", o->overrides,
                           "data.KEY or seed in place of the run's, such as data.root=DIR")
                ->type_name("KEY=VALUE");
            add_split(app, o->split);
            app.add_option("--limit", o->limit,
                           "estimate from this many examples, chosen at random; 0 = all")
                ->capture_default_str()
                ->check(at_least(0));
            app.add_option("--mistakes", o->mistakes,
                           "also an image of this many of the worst mistakes: MODEL's folder/"
                           "mistakes_SPLIT.png")
                ->check(between(0, 1000));
            add_device(app, o->device);
            add_precision(app, o->precision);
            add_threads(app, o->threads);
            app.add_flag("--json", o->json, "one JSON object");
            return [o](Streams s) { return run_eval(*o, s); };
          }};
}

}  // namespace vitrine::cli
