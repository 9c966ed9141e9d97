#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/data/image_batches.h"
#include "vitrine/infer/device.h"
#include "vitrine/models/sparse_transformer.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/train/bits_per_dim.h"
#include "vitrine/train/config.h"
#include "vitrine/train/evaluate.h"
#include "vitrine/train/objective.h"
#include "vitrine/train/report.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;

struct EvalOptions {
  std::string model;
  std::vector<std::string> overrides;
  std::string split = "test";
  std::string device = "cpu";
  int64_t threads = 0;
  bool json = false;
};

/// The recipe that the checkpoint was trained with, with what the user wants otherwise.
Recipe recipe_of(const CheckpointInfo& info, const EvalOptions& o) {
  check(!info.recipe.empty(), "eval: {} does not say which data it was trained with", o.model);
  auto settings = Settings::from_text(info.recipe, o.model + " (recipe)");
  for (const auto& assignment : o.overrides) settings.override_with(assignment);
  Recipe recipe;
  settings.read_into(recipe);
  recipe.data = resolved(recipe.data);
  return recipe;
}

/// The pictures of one part, prepared as the checkpoint says.
std::unique_ptr<BatchSource> open_pictures(const Recipe& recipe, const CheckpointInfo& info,
                                           Part part) {
  const auto seed = static_cast<uint64_t>(recipe.seed);
  const auto data = open_part(recipe.data, seed, part);
  check(data->classes() == info.classes,
        "eval: the classes of {} are not those that the network was trained with",
        recipe.data.dataset.name());
  return std::make_unique<ImageBatches>(data, info.preprocess.value(), AugmentConfig(), seed);
}

std::unique_ptr<BatchSource> open_other(const Recipe& recipe, const CheckpointInfo& info,
                                        Part part) {
  auto splits = open_data(recipe.data, static_cast<uint64_t>(recipe.seed));
  check(splits.classes == info.classes,
        "eval: the words of {} are not those that the network was trained with",
        recipe.data.dataset.name());
  return std::move(splits.get(part));
}

/// A line per score: "accuracy  98.25 %".
std::string table_of(const Sums& scores) {
  size_t width = 0;
  for (const auto& [name, score] : scores) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, score] : scores)
    text += fmt::format("{:<{}}  {}\n", name, width, score_text(name, score));
  return text;
}

constexpr const char* kColourNames[] = {"R", "G", "B"};

/// Where the bits of colour pictures are counted, if the model tells such pictures byte by byte.
std::optional<PictureBits> picture_bits_of(const Model& model) {
  const auto* teller = dynamic_cast<const SparseTransformer*>(&model);
  if (teller == nullptr || teller->config.channels != std::ssize(kColourNames)) return std::nullopt;
  return PictureBits(teller->config.rows, teller->config.columns, teller->config.channels);
}

/// Bits per dim of the channels in a line, of the rows in a few columns that are read downwards.
std::string bits_table(const PictureBits& bits) {
  constexpr size_t kColumns = 4;
  std::string text = "bits per dim by channel\n";
  const auto channels = bits.channels(), rows = bits.rows();
  for (size_t i = 0; i < channels.size(); ++i)
    text += fmt::format("{:>5} {:.4f}", kColourNames[i], channels[i]);
  text += "\n\nbits per dim by row of the picture\n";
  const auto lines = (rows.size() + kColumns - 1) / kColumns;
  for (size_t line = 0; line < lines; ++line) {
    for (size_t row = line; row < rows.size(); row += lines)
      text += fmt::format("{:>5} {:.4f}", row, rows[row]);
    text += '\n';
  }
  return text;
}

int run_eval(const EvalOptions& o, Streams streams) {
  set_up_runtime(o.threads);
  const auto part = part_of_name(o.split);
  const auto device = open_device(o.device);
  const auto [model, info] = load_checkpoint(o.model);
  const auto recipe = recipe_of(info, o);
  const bool has_classes = model->task() == Task::Classes;
  const auto batches =
      has_classes ? open_pictures(recipe, info, part) : open_other(recipe, info, part);
  EvaluateOptions options{.batch = recipe.data.batch,
                          .workers = recipe.data.workers,
                          .device = device,
                          .label = o.split};
  auto bits = picture_bits_of(*model);
  if (bits)
    options.on_batch = [&](const torch::Tensor& output, const torch::Tensor& targets) {
      bits->add(output, targets);
    };
  ConfusionMatrix matrix(info.classes);
  model->to(device);
  const auto objective = make_objective(model->task(), /*label_smoothing=*/0);
  const auto scores = scores_of(has_classes ? evaluate_classes(*model, *batches, options, matrix)
                                            : evaluate(*model, *batches, *objective, options),
                                *objective);
  if (o.json) {
    ordered_json json = {{"model", o.model},
                         {"dataset", recipe.data.dataset.name()},
                         {"split", part_name(part)},
                         {"examples", batches->size()}};
    for (const auto& [name, score] : scores) json[name] = score;
    if (has_classes) json["report"] = ordered_json::parse(classification_report_json(matrix));
    if (bits) {
      json["channels"] = bits->channels();
      json["rows"] = bits->rows();
    }
    streams.out << json.dump() << '\n';
    return 0;
  }
  streams.out << fmt::format("{} on {} {} examples of {}\n{}", o.model, batches->size(),
                             part_name(part), recipe.data.dataset.name(), table_of(scores));
  if (has_classes) streams.out << '\n' << classification_report(matrix);
  if (bits) streams.out << '\n' << bits_table(*bits);
  return 0;
}

}  // namespace

Command eval_command() {
  return {
      "eval", "loss, accuracy and a report per class of a trained network", [](CLI::App& app) {
        const auto o = std::make_shared<EvalOptions>();
        app.add_option("model", o->model, "a run folder (its best checkpoint) or a checkpoint")
            ->required();
        app.add_option("overrides", o->overrides,
                       "key.path=value of the run's recipe, such as data.root=DIR");
        app.add_option("--split", o->split, "train, validation or test")->capture_default_str();
        app.add_option("--device", o->device, "cpu or cuda")->capture_default_str();
        app.add_option("--threads", o->threads, "threads; 0 = all cores")->capture_default_str();
        app.add_flag("--json", o->json, "one JSON object");
        return [o](Streams s) { return run_eval(*o, s); };
      }};
}

}  // namespace vitrine::cli
