#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/infer/addition_predictor.h"
#include "vitrine/infer/classifier.h"
#include "vitrine/ops/runtime.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;

struct PredictOptions {
  std::string model;
  std::vector<std::string> inputs;
  int64_t top_k = 5;
  std::string device = "cpu";
  int64_t threads = 0;
  bool json = false;
};

ordered_json json_of(const std::string& file, const std::vector<Prediction>& predictions) {
  auto list = ordered_json::array();
  for (const auto& p : predictions)
    list.push_back({{"label", p.label}, {"index", p.index}, {"probability", p.probability}});
  return {{"file", file}, {"predictions", list}};
}

std::string text_of(const std::string& file, const std::vector<Prediction>& predictions) {
  auto text = file + "\n";
  for (const auto& p : predictions)
    text += fmt::format("  {:>6.2f} %  {}\n", 100 * p.probability, p.label);
  return text;
}

std::string line(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

int predict_sums(const PredictOptions& o, Streams streams) {
  const auto network = AdditionPredictor::load(o.model, o.device);
  for (const auto& text : o.inputs) {
    const auto sum = network.add(*parse_pair(text));
    if (o.json)
      streams.out << line({{"input", text}, {"sum", sum.value}, {"probability", sum.probability}});
    else
      streams.out << fmt::format("{} = {}  ({:.2f} %)\n", text, sum.value, 100 * sum.probability);
  }
  return 0;
}

/// A file that cannot be read is reported and does not stop the others.
int run_predict(const PredictOptions& o, Streams streams) {
  check(o.top_k >= 1, "predict: --top-k {} is not positive", o.top_k);
  set_up_runtime(o.threads);
  if (std::all_of(o.inputs.begin(), o.inputs.end(), parse_pair)) return predict_sums(o, streams);
  const auto classifier = Classifier::load(o.model, o.device);
  bool failed = false;
  for (const auto& file : o.inputs) {
    try {
      const auto predictions = classifier.classify_file(file, o.top_k);
      streams.out << (o.json ? line(json_of(file, predictions)) : text_of(file, predictions));
    } catch (const Error& e) {
      failed = true;
      streams.err << "error: " << e.what() << '\n';
      if (o.json) streams.out << line({{"file", file}, {"error", e.what()}});
    }
  }
  return failed ? 1 : 0;
}

}  // namespace

Command predict_command() {
  return {
      "predict", "classify images, or add two numbers", [](CLI::App& app) {
        const auto o = std::make_shared<PredictOptions>();
        app.add_option("-m,--model", o->model, "a run folder (its best checkpoint) or a checkpoint")
            ->required();
        app.add_option("inputs", o->inputs, "JPEG, PNG or WebP files, or expressions such as 57+68")
            ->required();
        app.add_option("-k,--top-k", o->top_k, "classes per image")->capture_default_str();
        app.add_option("--device", o->device, "cpu or cuda")->capture_default_str();
        app.add_option("--threads", o->threads, "threads; 0 = all cores")->capture_default_str();
        app.add_flag("--json", o->json, "one JSON object per input and line");
        app.footer(
            "A file that cannot be read is reported on stderr (with --json also as an object with "
            "'error'); the\nother images are still classified, and the exit code is 1.");
        return [o](Streams s) { return run_predict(*o, s); };
      }};
}

}  // namespace vitrine::cli
