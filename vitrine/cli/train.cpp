#include <algorithm>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/train/distributed/worker_group.h"
#include "vitrine/train/init_weights.h"
#include "vitrine/train/run.h"
#include "vitrine/train/run_folder.h"

namespace vitrine::cli {
namespace {

struct TrainOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string resume;
  std::string out = "runs";
  std::string run;
  std::string cache = "cache/features";
  std::string device = "cpu";
  int64_t threads = 0;
};

/// The recipes that come with the program.
std::vector<std::string> shipped_recipes() {
  std::vector<std::string> files;
  std::error_code none;  // then there is nothing to list
  for (const auto& entry : fs::directory_iterator(shipped_path("recipes"), none))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

[[noreturn]] void ask_for_recipe() {
  const auto recipes = shipped_recipes();
  const auto example = recipes.empty() ? "RECIPE.yaml" : recipes.front();
  fail_usage(
      "train: no recipe is given, and no run folder to --resume. For example:\n"
      "  vitrine train {} train.epochs=3{}{}",
      example, recipes.empty() ? "" : "\nRecipes:\n  ", fmt::join(recipes, "\n  "));
}

/// A resumed run keeps its own recipe; one that is given as well must say the same.
void check_same_recipe(const TrainOptions& o) {
  if (o.recipe.empty()) {
    check_usage(o.overrides.empty(),
                "train: a resumed run keeps its own recipe; give no overrides");
    return;
  }
  const auto resolved_text = [](Recipe recipe) {
    recipe.data = resolved_data_config(recipe.data);
    return to_yaml(recipe);
  };
  const auto stored = read_stored_recipe(RunFolder::open(o.resume));
  auto given = read_recipe(o.recipe, o.overrides);
  if (!given.init.empty()) InitWeights(given.init).fit(given, stored);
  check(resolved_text(given) == resolved_text(stored),
        "train: {} is not the recipe of {}; leave it out to resume with the run's own", o.recipe,
        o.resume);
}

int run_train(const TrainOptions& o, Streams s) {
  const bool resume = !o.resume.empty();
  if (!resume && o.recipe.empty()) ask_for_recipe();
  if (resume) check_same_recipe(o);
  const auto place = place_from_environment();
  std::optional<WorkerGroup> group;
  if (place) group.emplace(*place);
  const RunOptions options{.device = o.device,
                           .threads = o.threads,
                           .out = o.out,
                           .folder = o.run,
                           .cache = o.cache,
                           .group = group ? &*group : nullptr,
                           .on_message = [&](const std::string& text) { s.err << text << '\n'; }};
  const auto outcome = resume ? resume_run(o.resume, options)
                              : run_recipe(read_recipe(o.recipe, o.overrides), options);
  const bool interrupted = outcome.stop_reason == StopReason::Interrupted;
  if (group && !group->leads()) return interrupted ? 1 : 0;
  if (interrupted && outcome.folder.empty()) {
    s.err << "interrupted; the same command uses the feature maps that are done\n";
    return 1;
  }
  if (interrupted) {
    s.err << "interrupted; resume with: vitrine train --resume " << outcome.folder.string() << '\n';
    return 1;
  }
  s.out << outcome.folder.string() << '\n';
  return 0;
}

}  // namespace

Command train_command() {
  return {
      "train", "train a model from a recipe", [](CLI::App& app) {
        auto o = std::make_shared<TrainOptions>();
        app.add_option("recipe", o->recipe, "recipe file (YAML)")->type_name("FILE");
        app.add_option("overrides", o->overrides,
                       "settings in place of the recipe's, such as train.epochs=3")
            ->type_name("KEY=VALUE");
        app.add_option("--resume", o->resume, "resume the run in this folder")->type_name("FOLDER");
        app.add_option("--out", o->out, "parent of the run folders")
            ->type_name("FOLDER")
            ->capture_default_str();
        app.add_option("--run", o->run, "the run folder itself; by default OUT/NAME-DATE-TIME")
            ->type_name("FOLDER");
        app.add_option("--cache", o->cache,
                       "where feature maps (train.cache_backbone) and a teacher's logits are kept")
            ->type_name("FOLDER")
            ->capture_default_str();
        add_device(app, o->device);
        add_threads(app, o->threads);
        return [o](Streams s) { return run_train(*o, s); };
      }};
}

}  // namespace vitrine::cli
