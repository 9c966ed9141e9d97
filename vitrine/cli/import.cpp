#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/train/config.h"
#include "vitrine/weights/importers.h"

namespace vitrine::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::vector<std::string> settings;
  std::string out;
  bool tensors = false;
};

/// The recipe of the data that the model can be evaluated on; "" if the program has none.
std::string recipe_of(const ImportedModel& imported, const fs::path& file) {
  if (imported.recipe.empty()) return "";
  Recipe recipe;
  recipe.name = file.stem().string();
  recipe.model = imported.checkpoint.info.model;
  Settings::from_text(imported.recipe, imported.source + " (recipe)").read_into(recipe);
  return to_yaml(recipe);
}

int run_import(const ImportOptions& o, Streams streams) {
  check(o.out.ends_with(".safetensors"), "import: -o {} does not end in .safetensors", o.out);
  auto imported = import_weights(o.file, o.settings);
  auto& [model, info] = imported.checkpoint;
  info.recipe = recipe_of(imported, o.file);
  save_checkpoint(o.out, *model, info);
  const auto& importer = importers().get(imported.source);
  if (o.tensors) streams.err << imported.account.lines();
  streams.err << fmt::format("{}: {}\n", importer.map.source, imported.account.summary());
  if (!importer.untold.empty())
    streams.err << fmt::format("{} are not in the file: check those below\n", importer.untold);
  streams.out << fmt::format("{}: {} parameters\n{}", o.out, parameter_count(*model),
                             to_yaml(info.model));
  return 0;
}

}  // namespace

Command import_command() {
  return {"import", "convert published weights to a checkpoint", [](CLI::App& app) {
            const auto o = std::make_shared<ImportOptions>();
            app.add_option("file", o->file,
                           "the published weights: .safetensors with the names of timm or Hugging "
                           "Face (ViT), .npz of OpenAI (Sparse Transformer)")
                ->required();
            app.add_option("settings", o->settings,
                           "key=value of the model that the file does not contain: heads=16, "
                           "pattern.stride=96; another image=384 interpolates the positions");
            app.add_option("-o,--out", o->out, "the checkpoint, .safetensors")->required();
            app.add_flag("--tensors", o->tensors, "say what became of every tensor of the file");
            return [o](Streams s) { return run_import(*o, s); };
          }};
}

}  // namespace vitrine::cli
