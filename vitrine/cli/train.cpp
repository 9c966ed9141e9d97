#include <optional>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/progress.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/train/run_state.h"
#include "vitrine/train/trainer.h"

namespace vitrine::cli {
namespace {

struct TrainOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string resume;
  std::string out = "runs";
  std::string device = "cpu";
  int64_t threads = 0;
};

int train_in(RunFolder folder, const Recipe& recipe, const TrainOptions& o, int64_t threads,
             std::shared_ptr<Model> model, const Splits& data, Streams s) {
  const bool resume = !o.resume.empty();
  s.err << (resume ? "resume " : "run folder ") << folder.path().string() << '\n';
  const auto result = train({recipe, folder, resume, o.device, threads}, std::move(model), data);
  if (result.end == TrainEnd::Interrupted) {
    s.err << "interrupted; go on with: vitrine train --resume " << folder.path().string() << '\n';
    return 1;
  }
  s.out << folder.path().string() << '\n';
  return 0;
}

/// Nothing is written before the recipe, the data and the model have proved to fit.
int run_train(const TrainOptions& o, Streams s) {
  const bool resume = !o.resume.empty();
  check(resume != !o.recipe.empty(),
        "train: name either a recipe (recipes/*.yaml) or, with --resume, a run folder");
  check(!resume || o.overrides.empty(),
        "train: a resumed run keeps its own recipe; give no overrides with --resume");
  const auto stored = resume ? std::optional(RunFolder::open(o.resume)) : std::nullopt;
  auto recipe = read_recipe(resume ? stored->recipe().string() : o.recipe, o.overrides);
  recipe.data = resolved(recipe.data);
  const auto wanted = resume && o.threads == 0 ? read_run_position(*stored).threads : o.threads;
  const auto threads = set_up_runtime(wanted);
  const auto data = open_data(recipe.data, static_cast<uint64_t>(recipe.seed));
  auto model = build_for_training(recipe, data);
  const auto folder = resume ? *stored : RunFolder::create(o.out, recipe.name);
  if (!resume) write_file_atomically(folder.recipe(), to_yaml(recipe));
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
        app.add_option("--device", o->device, "cpu or cuda")->capture_default_str();
        app.add_option("--threads", o->threads, "threads; 0 = all cores")->capture_default_str();
        return [o](Streams s) { return run_train(*o, s); };
      }};
}

}  // namespace vitrine::cli
