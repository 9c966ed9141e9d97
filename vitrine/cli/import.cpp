#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/core/settings.h"
#include "vitrine/formats/openai_sparse.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/nn/parameter_count.h"
#include "vitrine/train/config.h"

namespace vitrine::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::vector<std::string> settings;
  std::string out;
};

/// The data that the model is for, so that it can be evaluated; "" if the program has none.
std::string recipe_for(const SparseTransformerConfig& config, const ModelChoice& choice,
                       const fs::path& file) {
  const auto c10 = sparse_c10();
  if (config.rows != c10.rows || config.columns != c10.columns || config.channels != c10.channels)
    return "";
  Recipe recipe;
  recipe.name = file.stem().string();
  recipe.model = choice;
  recipe.data.dataset.choose("cifar10_bytes");
  recipe.data.batch = 8;
  recipe.data.validation = 0.04;  // 2,000 pictures, as in the paper
  return to_yaml(recipe);
}

int run_import(const ImportOptions& o, Streams streams) {
  check(o.out.ends_with(".safetensors"), "import: -o {} does not end in .safetensors", o.out);
  auto [model, info] = import_openai_sparse(o.file, o.settings);
  const auto& config = dynamic_cast<const SparseTransformer&>(*model).config;
  info.recipe = recipe_for(config, info.model, o.file);
  save_checkpoint(o.out, *model, info);
  streams.err << "heads, pattern and order of the bytes are not in the file: check those below\n";
  streams.out << fmt::format("{}: {} parameters\n{}", o.out, parameter_count(*model),
                             to_yaml(info.model));
  return 0;
}

}  // namespace

Command import_command() {
  return {"import", "make a checkpoint of a Sparse Transformer that OpenAI published",
          [](CLI::App& app) {
            const auto o = std::make_shared<ImportOptions>();
            app.add_option("file", o->file, "the published weights, .npz")->required();
            app.add_option("settings", o->settings,
                           "key=value of the model that the file does not tell: heads=16, "
                           "pattern.stride=96");
            app.add_option("-o,--out", o->out, "the checkpoint, .safetensors")->required();
            return [o](Streams s) { return run_import(*o, s); };
          }};
}

}  // namespace vitrine::cli
