#include "vitrine/inspect/explain.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/image_inputs.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/progress.h"
#include "vitrine/infer/precision.h"
#include "vitrine/inspect/explain/gallery.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;

struct ExplainOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::string out = "explain";
  std::vector<int> methods;  // values of ExplainMethod
  ExplainConfig config{};
  Precision precision = Precision::Float32;
  int64_t threads = 0;
  bool json = false;
};

ordered_json json_of(const std::vector<FaithfulnessScore>& scores) {
  auto list = ordered_json::array();
  for (const auto& score : scores)
    list.push_back({{"method", score.method},
                    {"images", score.gains.size()},
                    {"deletion_auc", score.deletion_area.mean},
                    {"insertion_auc", score.insertion_area.mean},
                    {"better_than_random", score.beats_random}});
  return list;
}

ordered_json json_of(const std::string& file, const Explanation& e,
                     const std::vector<fs::path>& files) {
  auto names = ordered_json::array();
  for (const auto& path : files) names.push_back(path.string());
  ordered_json json = {
      {"file", file},
      {"label", e.predictions.front().label},
      {"probability", e.predictions.front().probability},
      {"class", {{"label", e.target.label}, {"probability", e.target.probability}}}};
  for (const auto& [name, method] : explain_method_names())
    if (const auto* map = e.map(method))
      json[name] = {{"least", attention_map_range(*map).low},
                    {"greatest", attention_map_range(*map).high},
                    {"near_uniform", near_uniform(*map)}};
  if (!e.curves.empty()) json["faithfulness"] = json_of(faithfulness({e.curves}));
  json["files"] = names;
  return json;
}

/// What was found, for people.
std::string text_of(const std::string& file, const Explanation& e, size_t files) {
  const auto& best = e.predictions.front();
  auto text = fmt::format("{}: {} ({:.1f} %); wrote {} files\n", file, best.label,
                          100 * best.probability, files);
  if (e.target.index != best.index)
    text += fmt::format("explained: {} ({:.1f} %)\n", e.target.label, 100 * e.target.probability);
  for (const auto& [name, method] : explain_method_names())
    if (const auto* map = e.map(method))
      text += fmt::format("{}: {}\n", name, describe_attention_map(*map));
  return text;
}

std::string scores_text(const std::vector<FaithfulnessScore>& scores) {
  std::string text;
  for (const auto& score : scores)
    text += fmt::format("{:<18} deletion AUC {:.3f}, insertion AUC {:.3f}\n", score.method,
                        score.deletion_area.mean, score.insertion_area.mean);
  return text + faithfulness_text(scores) + '\n';
}

LoadedCheckpoint load_model(const ExplainOptions& o, Streams streams) {
  auto loaded = load_checkpoint(o.model);
  set_precision(*loaded.model, o.precision, loaded.info.model.name());
  say_precision(o.precision, streams.err);
  return loaded;
}

int explain_one(const ExplainOptions& o, const fs::path& file, Streams streams) {
  const auto image = read_image(file);
  const auto e = explain(load_model(o, streams), image, o.config);
  const auto files = write_explanation(e, file.filename().string(), o.out);
  streams.err << text_of(file.string(), e, files.size());
  if (!e.curves.empty()) streams.err << scores_text(faithfulness({e.curves}));
  if (o.json)
    streams.out << json_line(json_of(file.string(), e, files));
  else
    streams.out << files.back().string() << '\n';
  return 0;
}

/// A gallery; an image that cannot be read is reported and does not stop the others.
int explain_many(const ExplainOptions& o, const std::vector<fs::path>& files, Streams streams) {
  const auto checkpoint = load_model(o, streams);
  Gallery gallery(o.out);
  auto progress = std::make_optional<Progress>("explain", std::ssize(files), "images");
  int64_t done = 0, failed = 0;
  for (const auto& file : files) {
    Image image;
    try {
      image = read_image(file);
    } catch (const Error& e) {
      ++failed;
      progress->clear();
      streams.err << "error: " << e.what() << '\n';
      if (o.json) streams.out << json_line({{"file", file.string()}, {"error", e.what()}});
    }
    if (image.width > 0) {
      auto config = o.config;
      config.weights = gallery.size() == 0;
      config.seed = static_cast<uint64_t>(done) + 1;
      const auto e = explain(checkpoint, image, config);
      const auto written = gallery.add(e, file.filename().string());
      if (o.json) streams.out << json_line(json_of(file.string(), e, written));
    }
    progress->update(++done);
  }
  if (gallery.size() == 0) return 1;
  const auto page = gallery.save();
  progress.reset();
  const auto scores = gallery.scores();
  if (!scores.empty()) streams.err << scores_text(scores);
  if (o.json)
    streams.out << json_line({{"index", page.string()}, {"faithfulness", json_of(scores)}});
  else
    streams.out << page.string() << '\n';
  return failed > 0 ? 1 : 0;
}

int run_explain(const ExplainOptions& o, Streams streams) {
  set_up_runtime(o.threads);
  const auto files = image_files_of(o.inputs, "explain");
  const bool one = files.size() == 1 && !fs::is_directory(o.inputs.front());
  return one ? explain_one(o, files.front(), streams) : explain_many(o, files, streams);
}

}  // namespace

Command explain_command() {
  return {
      "explain", "show which parts of an image a prediction comes from", [](CLI::App& app) {
        const auto o = std::make_shared<ExplainOptions>();
        add_model(app, "-m,--model", o->model);
        app.add_option("images", o->inputs, "JPEG, PNG or WebP files, or folders of them")
            ->type_name("PATH")
            ->required();
        app.add_option("-o,--out", o->out,
                       "folder for the figures and explain.html; for several images, index.html "
                       "and a folder each")
            ->type_name("FOLDER")
            ->capture_default_str();
        take_one_of(app.add_option("--method", o->methods,
                                   "methods, several with commas; default: all that the model has"),
                    explain_method_names())
            ->delimiter(',')
            ->allow_extra_args(false);
        app.add_option("--class", o->config.target,
                       "class to explain, by name or index; default: the most likely one");
        take_one_of(app.add_option("--heads", o->config.rollout.heads,
                                   "rollout: how the heads of a layer are joined"),
                    head_fusion_names());
        app.add_option("--discard", o->config.rollout.discard,
                       "rollout: fraction of each layer's weights, the smallest, set to 0")
            ->capture_default_str()
            ->check(number_check([](double v) { return v >= 0 && v < 1; }, "0 to below 1"));
        app.add_flag("--faithfulness", o->config.faithfulness,
                     "also measure deletion and insertion curves of every method");
        add_precision(app, o->precision);
        add_threads(app, o->threads);
        app.add_flag("--json", o->json,
                     "one JSON object per image and line: the answer and the files written");
        app.footer(
            "Of several images, one that cannot be read is reported on stderr (with --json also as "
            "an object with\n'error'); the others are still explained, and the exit code is 1.");
        return [o](Streams s) {
          for (const int method : o->methods)
            o->config.methods.push_back(static_cast<ExplainMethod>(method));
          return run_explain(*o, s);
        };
      }};
}

}  // namespace vitrine::cli
