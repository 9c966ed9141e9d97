#include "vitrine/inspect/summary.h"

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/train/config.h"
#include "vitrine/train/run_folder.h"
#include "vitrine/weights/importers.h"

namespace vitrine::cli {
namespace {

struct SummaryOptions {
  std::string what;
  std::vector<std::string> settings;
  bool json = false;
};

/// The model that a name, a recipe, a run folder or a checkpoint means.
ModelChoice choice_of(const SummaryOptions& o) {
  if (models().has(o.what)) return read_model("name: " + o.what, o.settings, "command line");
  if (is_published(o.what)) return stored_model(o.what, o.settings);
  if (fs::is_directory(o.what))
    return read_stored_recipe(RunFolder::open(o.what), o.settings).model;
  check_usage(fs::exists(o.what),
              "summary: '{}' is neither a model (see `vitrine models`) nor a recipe, run folder or "
              "checkpoint{}",
              o.what, did_you_mean(o.what, models().names()));
  if (fs::path(o.what).extension() != ".safetensors") return read_recipe(o.what, o.settings).model;
  return stored_model(o.what, o.settings);
}

int run_summary(const SummaryOptions& o, Streams streams) {
  const auto choice = choice_of(o);
  const auto summary = summarize(choice);
  if (o.json)
    streams.out << summary_json(choice.name(), summary) << '\n';
  else
    streams.out << summary_text(choice.name(), summary);
  return 0;
}

}  // namespace

Command summary_command() {
  return {"summary", "every layer of a model: shapes, parameters, multiply-adds, memory",
          [](CLI::App& app) {
            const auto o = std::make_shared<SummaryOptions>();
            app.add_option("model", o->what,
                           "a model's name, a recipe, run folder, checkpoint or published "
                           "weights")
                ->type_name("MODEL|PATH")
                ->required();
            app.add_option("settings", o->settings,
                           "settings of the model (image=384), or of the recipe (model.image=384) "
                           "where that is given")
                ->type_name("KEY=VALUE");
            app.add_flag("--json", o->json, "one JSON object");
            return [o](Streams s) { return run_summary(*o, s); };
          }};
}

}  // namespace vitrine::cli
