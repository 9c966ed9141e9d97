#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/image_inputs.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/csv.h"
#include "vitrine/core/error.h"
#include "vitrine/core/image_files.h"
#include "vitrine/core/progress.h"
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
  std::string csv;
  std::string device = "cpu";
  Precision precision = Precision::Float32;
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

/// A table of predictions: the file, then class and probability of the likeliest, the next, ...,
/// then why a file has none.
class PredictionTable {
 public:
  explicit PredictionTable(int64_t classes) : classes_(classes) {
    std::vector<std::string> head = {"file"};
    for (int64_t i = 1; i <= classes; ++i) {
      head.push_back(fmt::format("class_{}", i));
      head.push_back(fmt::format("probability_{}", i));
    }
    head.push_back("error");
    text_ = csv_line(head);
  }
  void add(const FilePredictions& result) {
    std::vector<std::string> row = {result.file.string()};
    for (const auto& p : result.predictions) {
      row.push_back(p.label);
      row.push_back(fmt::format("{:.6g}", p.probability));
    }
    row.resize(1 + 2 * classes_);
    row.push_back(result.error);
    text_ += csv_line(row);
  }
  const std::string& text() const { return text_; }

 private:
  int64_t classes_;
  std::string text_;
};

/// Classifies the files; one that cannot be read is reported and does not stop the others.
int predict_images(const PredictOptions& o, Streams streams) {
  const auto files = image_files_of(o.inputs, "predict");
  const auto classifier = Classifier::load(o.model, o.device, o.precision);
  say_precision(o.precision, streams.err);
  PredictionTable table(std::min(o.top_k, std::ssize(classifier.classes())));
  Progress progress("predict", std::ssize(files), "images");
  int64_t done = 0, failed = 0;
  classifier.classify_files(files, o.top_k, [&](const FilePredictions& result) {
    const auto file = result.file.string();
    const bool read = result.error.empty();
    if (!o.csv.empty()) table.add(result);
    if (!read || o.csv.empty() || o.json) progress.clear();
    if (!read) streams.err << "error: " << result.error << '\n';
    if (o.json)
      streams.out << json_line(read ? json_of(file, result.predictions)
                                    : ordered_json{{"file", file}, {"error", result.error}});
    else if (read && o.csv.empty())
      streams.out << text_of(file, result.predictions);
    failed += !read;
    progress.update(++done);
  });
  if (!o.csv.empty()) {
    write_file_atomically(o.csv, table.text());
    progress.clear();
    streams.err << fmt::format("predict: wrote {}: {} images{}\n", o.csv, done,
                               failed > 0 ? fmt::format(", {} of them unreadable", failed) : "");
  }
  return failed > 0 ? 1 : 0;
}

/// Throws if a table could not be written, before any work.
void check_table_file(const fs::path& path) {
  if (path.empty()) return;
  check(!fs::is_directory(path), "predict: --csv {} is a folder; name a file", path.string());
  const auto folder = fs::absolute(path).parent_path();
  check(fs::is_directory(folder), "predict: --csv {}: folder {} does not exist", path.string(),
        folder.string());
}

/// Adds; an input that is no sum is reported and does not stop the others.
int predict_sums(const PredictOptions& o, Streams streams) {
  check(o.precision == Precision::Float32,
        "predict: addition models compute in fp32 alone; leave out --precision {}",
        precision_name(o.precision));
  const auto network = AdditionPredictor::load(o.model, o.device);
  bool failed = false;
  for (const auto& text : o.inputs) {
    try {
      const auto pair = parse_pair(text);
      check(pair.has_value(),
            "predict: '{}' is not a sum of two numbers from 0 to 99, such as 57+68", text);
      const auto sum = network.add(*pair);
      streams.out << (o.json ? json_line({{"input", text},
                                          {"sum", sum.value},
                                          {"probability", sum.probability}})
                             : fmt::format("{} = {}  ({:.2f} %)\n", text, sum.value,
                                           100 * sum.probability));
    } catch (const Error& e) {
      failed = true;
      streams.err << "error: " << e.what() << '\n';
      if (o.json) streams.out << json_line({{"input", text}, {"error", e.what()}});
    }
  }
  return failed ? 1 : 0;
}

int run_predict(const PredictOptions& o, Streams streams) {
  set_up_runtime(o.threads);
  if (std::any_of(o.inputs.begin(), o.inputs.end(), looks_like_sum))
    return predict_sums(o, streams);
  check_table_file(o.csv);
  return predict_images(o, streams);
}

}  // namespace

Command predict_command() {
  return {
      "predict", "classify images, or add two numbers", [](CLI::App& app) {
        const auto o = std::make_shared<PredictOptions>();
        add_model(app, "-m,--model", o->model);
        app.add_option("inputs", o->inputs,
                       "JPEG, PNG or WebP files, folders of them, or expressions such as 57+68")
            ->type_name("PATH")
            ->required();
        app.add_option("-k,--top-k", o->top_k, "classes per image")
            ->capture_default_str()
            ->check(at_least(1));
        app.add_option("--csv", o->csv, "write the predictions to this CSV file instead of stdout")
            ->type_name("FILE");
        add_device(app, o->device);
        add_precision(app, o->precision);
        add_threads(app, o->threads);
        app.add_flag("--json", o->json, "one JSON object per input and line");
        app.footer(
            "An input that cannot be answered is reported on stderr (with --json also as an object "
            "with 'error');\nthe others are still answered, and the exit code is 1.");
        return [o](Streams s) { return run_predict(*o, s); };
      }};
}

}  // namespace vitrine::cli
