#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
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

/// Prints what `answer` makes of each input. One that fails is reported, as an object with the
/// input under `key`, and does not stop the others.
template <typename Answer>
int answer_each(const PredictOptions& o, Streams streams, const char* key, const Answer& answer) {
  bool failed = false;
  for (const auto& input : o.inputs) {
    try {
      streams.out << answer(input);
    } catch (const std::exception& e) {
      failed = true;
      auto message = message_of(e);
      if (message.find(input) == std::string::npos) message = input + ": " + message;
      streams.err << "error: " << message << '\n';
      if (o.json) streams.out << line({{key, input}, {"error", message}});
    }
  }
  return failed ? 1 : 0;
}

int predict_sums(const PredictOptions& o, Streams streams) {
  const auto network = AdditionPredictor::load(o.model, o.device);
  return answer_each(o, streams, "input", [&](const std::string& text) {
    const auto pair = parse_pair(text);
    check(pair.has_value(), "predict: '{}' is not a sum of two numbers from 0 to 99, such as 57+68",
          text);
    const auto sum = network.add(*pair);
    return o.json ? line({{"input", text}, {"sum", sum.value}, {"probability", sum.probability}})
                  : fmt::format("{} = {}  ({:.2f} %)\n", text, sum.value, 100 * sum.probability);
  });
}

int run_predict(const PredictOptions& o, Streams streams) {
  set_up_runtime(o.threads);
  if (std::any_of(o.inputs.begin(), o.inputs.end(), looks_like_sum))
    return predict_sums(o, streams);
  const auto classifier = Classifier::load(o.model, o.device);
  return answer_each(o, streams, "file", [&](const std::string& file) {
    const auto predictions = classifier.classify_file(file, o.top_k);
    return o.json ? line(json_of(file, predictions)) : text_of(file, predictions);
  });
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
        app.add_option("-k,--top-k", o->top_k, "classes per image")
            ->capture_default_str()
            ->check(at_least(1));
        app.add_option("--device", o->device, "cpu or cuda")->capture_default_str();
        add_threads(app, o->threads);
        app.add_flag("--json", o->json, "one JSON object per input and line");
        app.footer(
            "An input that cannot be answered is reported on stderr (with --json also as an object "
            "with 'error');\nthe others are still answered, and the exit code is 1.");
        return [o](Streams s) { return run_predict(*o, s); };
      }};
}

}  // namespace vitrine::cli
