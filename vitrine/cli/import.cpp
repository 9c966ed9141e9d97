#include <torch/torch.h>

#include <sstream>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/models/model.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/weights/importers.h"

namespace vitrine::cli {
namespace {

struct ImportArguments {
  std::string file;
  std::vector<std::string> settings;
  std::string model, out;
  bool tensors = false;
};

std::string indented(const std::string& yaml) {
  std::string text;
  std::istringstream lines(yaml);
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  return text;
}

/// The checkpoint in the working directory that is called like the file or folder.
std::string default_out(const std::string& file) {
  const auto path = fs::absolute(file).lexically_normal();
  const auto name = path.has_filename() ? path.filename() : path.parent_path().filename();
  const auto stem = fs::is_directory(path) ? name : name.stem();
  const auto out = stem.string() + ".safetensors";
  check_usage(fs::absolute(out) != path && !fs::exists(out),
              "import: {} exists; name the checkpoint with -o", out);
  return out;
}

/// A warning where weights are NaN or infinite; "" where all are numbers.
std::string non_finite_text(const Model& model) {
  std::vector<std::string> names;
  for (const auto& [name, weight] : named_weights(model))
    if (weight.is_floating_point() && !torch::isfinite(weight).all().item<bool>())
      names.push_back(name);
  if (names.empty()) return "";
  return fmt::format("warning: NaN or infinity in {}, first in '{}'\n",
                     counted(std::ssize(names), "weight tensor"), names[0]);
}

int run_import(const ImportArguments& o, Streams streams) {
  const auto out = o.out.empty() ? default_out(o.file) : o.out;
  check(out.ends_with(".safetensors"), "import: -o {} does not end in .safetensors", out);
  const auto imported = import_weights(o.file, {.settings = o.settings, .model = o.model});
  const auto& [model, info] = imported.checkpoint;
  save_checkpoint(out, *model, info);
  const auto& importer = importers().get(imported.source);
  if (o.tensors) streams.err << imported.account.lines();
  streams.err << fmt::format("{}: {}\n", importer.map.source, imported.account.summary());
  streams.err << non_finite_text(*model);
  if (!imported.untold.empty())
    streams.err << fmt::format("{} are not in the file: check those below\n", imported.untold);
  streams.out << fmt::format("{}: {} parameters\n{}", out, parameter_count(*model),
                             to_yaml(info.model));
  if (info.preprocess) streams.out << "preprocess:\n" << indented(to_yaml(*info.preprocess));
  return 0;
}

}  // namespace

Command import_command() {
  return {"import", "convert published weights to a checkpoint", [](CLI::App& app) {
            const auto o = std::make_shared<ImportArguments>();
            app.add_option("file", o->file,
                           "the published weights: a file (ViT of timm, DeiT, Hugging Face, "
                           "torchvision or Google, ResNet of torchvision, timm or Keras, Sparse "
                           "Transformer of OpenAI), or a folder of timm or Hugging Face with its "
                           "config.json, or of TensorFlow.js with its model.json")
                ->type_name("PATH")
                ->required();
            app.add_option("settings", o->settings,
                           "settings of the model that the file does not contain: heads=16, "
                           "pattern.stride=96; another image=384 interpolates the positions; "
                           "preprocess.resize=256 prepares images otherwise")
                ->type_name("KEY=VALUE");
            app.add_option("--model", o->model,
                           "the model that it is, as in `vitrine models`; else told by the shapes")
                ->type_name("MODEL");
            app.add_option("-o,--out", o->out,
                           "the checkpoint; default: FILE's name with .safetensors, here")
                ->type_name("FILE");
            app.add_flag("--tensors", o->tensors, "say what became of every tensor of the file");
            return [o](Streams s) { return run_import(*o, s); };
          }};
}

}  // namespace vitrine::cli
