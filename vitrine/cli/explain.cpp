#include "vitrine/inspect/explain.h"

#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;

struct ExplainOptions {
  std::string model;
  std::string image;
  std::string out = "explain";
  int64_t threads = 0;
  bool json = false;
};

int run_explain(const ExplainOptions& o, Streams streams) {
  set_up_runtime(o.threads);
  const auto image = read_image(o.image);
  const auto explanation = explain(load_checkpoint(o.model), image);
  const auto files = write_explanation(explanation, fs::path(o.image).filename().string(), o.out);
  const auto& best = explanation.predictions.front();
  streams.err << fmt::format("{}: {} ({:.1f} %); wrote {} files\nrollout: {}\n", o.image,
                             best.label, 100 * best.probability, files.size(),
                             describe(explanation.rollout));
  if (o.json) {
    auto names = ordered_json::array();
    for (const auto& file : files) names.push_back(file.string());
    const auto range = range_of(explanation.rollout);
    const ordered_json json = {{"file", o.image},
                               {"label", best.label},
                               {"probability", best.probability},
                               {"rollout",
                                {{"least", range.low},
                                 {"greatest", range.high},
                                 {"near_uniform", near_uniform(explanation.rollout)}}},
                               {"files", names}};
    streams.out << json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
  } else {
    streams.out << files.back().string() << '\n';
  }
  return 0;
}

}  // namespace

Command explain_command() {
  return {"explain", "show which parts of an image a model attends to", [](CLI::App& app) {
            const auto o = std::make_shared<ExplainOptions>();
            app.add_option("-m,--model", o->model,
                           "a run folder (its best checkpoint), a checkpoint or published weights")
                ->required();
            app.add_option("image", o->image, "JPEG, PNG or WebP file")->required();
            app.add_option("-o,--out", o->out, "folder for the figures and explain.html")
                ->capture_default_str();
            add_threads(app, o->threads);
            app.add_flag("--json", o->json, "the answer and the files written, as one JSON object");
            return [o](Streams s) { return run_explain(*o, s); };
          }};
}

}  // namespace vitrine::cli
