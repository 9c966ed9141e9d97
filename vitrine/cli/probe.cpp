#include "vitrine/train/probe.h"

#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"

namespace vitrine::cli {
namespace {

struct ProbeCommandOptions {
  std::string model, data, out = "runs", run, cache = "cache/features", device = "cpu";
  std::vector<std::string> overrides;
  int64_t image = 0, threads = 0;
};

/// How features become classes is the probe's own matter.
void check_probe_overrides(const ProbeCommandOptions& o) {
  for (const auto& assignment : o.overrides) {
    const auto key = assignment.substr(0, assignment.find('='));
    const bool known =
        key == "name" || key == "seed" || key.starts_with("data.") || key.starts_with("model.");
    check_usage(known && !key.starts_with("data.augment"),
                "probe: {} has no effect on a probe; only name, seed, model.* and data.* but "
                "data.augment can be set",
                key);
  }
}

Recipe probe_recipe(const ProbeCommandOptions& o) {
  check_probe_overrides(o);
  auto settings = Settings::from_text("name: probe\n", "probe");
  settings.override_with("init=" + nlohmann::json(o.model).dump());
  if (!o.data.empty()) settings.override_with("data.dataset=" + o.data);
  if (o.image > 0) settings.override_with(fmt::format("model.image={}", o.image));
  for (const auto& assignment : o.overrides) settings.override_with(assignment);
  return recipe_from(settings);
}

int run_probe_command(const ProbeCommandOptions& o, Streams s) {
  const RunOptions options{.device = o.device,
                           .threads = o.threads,
                           .out = o.out,
                           .folder = o.run,
                           .on_message = [&](const std::string& text) { s.err << text << '\n'; }};
  const auto outcome = run_probe(probe_recipe(o), options, {.cache = o.cache});
  if (outcome.stop_reason == StopReason::Interrupted) {
    s.err << "interrupted; the same command uses the features of the splits that are done\n";
    return 1;
  }
  s.out << outcome.folder.string() << '\n';
  return 0;
}

}  // namespace

Command probe_command() {
  return {
      "probe", "train a linear classifier on the frozen features of a model", [](CLI::App& app) {
        const auto o = std::make_shared<ProbeCommandOptions>();
        add_model(app, "-m,--model", o->model);
        app.add_option("--data", o->data, "data set; default cifar10")->type_name("DATASET");
        app.add_option("--image", o->image,
                       "side of the images in pixels; 0 = as the model was trained")
            ->capture_default_str()
            ->check(at_least(0));
        app.add_option("overrides", o->overrides, "settings of a recipe, such as data.limit=5000")
            ->type_name("KEY=VALUE");
        app.add_option("--cache", o->cache, "where features are kept")
            ->type_name("FOLDER")
            ->capture_default_str();
        app.add_option("--out", o->out, "parent of the run folders")
            ->type_name("FOLDER")
            ->capture_default_str();
        app.add_option("--run", o->run, "the run folder itself; by default OUT/NAME-DATE-TIME")
            ->type_name("FOLDER");
        add_device(app, o->device);
        add_threads(app, o->threads);
        app.footer(
            "Features are computed once, without augmentation. The cache knows weights, model "
            "settings, data set and\npreprocessing; remove it if the images themselves have "
            "changed.");
        return [o](Streams s) { return run_probe_command(*o, s); };
      }};
}

}  // namespace vitrine::cli
